// --- The box: what ask.py answers, computed here.
const ids = new Map(box.words.map((word, i) => [word, i]));
const scores = new Float32Array(Uint8Array.from(atob(box.scores), (c) => c.charCodeAt(0)).buffer);
const models = [...Array(box.models).keys()];
const width = scores.length / box.models / (box.words.length + 1);
const [word_pattern, invisible, inside] = ["words", "invisible", "inside"].map(
  (name) => new RegExp(box.cut[name], "gu"),
);
const forms = /[\ufb00-\ufb06\ufb50-\uffee\u{1d400}-\u{1d7ff}’\u2010\u2011\ufe0f]/gu;
const sum = (values) => values.reduce((a, b) => a + b, 0);
const mean = (values) => sum(values) / values.length;
const largest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

// As words.spelt.
function spelt(word) {
  const plain = word
    .replace(invisible, "")
    .replace(inside, "'")
    .replace(forms, (c) => {
      if ("’\u2010\u2011\ufe0f".includes(c)) return { "’": "'", "\ufe0f": "" }[c] ?? "-";
      const form = c.normalize("NFKC");
      return /\s/.test(form) ? c : form;
    });
  return plain.normalize("NFC").toLowerCase() || word;
}

function cut(text) {
  const words = [...text.matchAll(word_pattern)]
    .map((match) => ({
      word: spelt(match[0]),
      begin: match.index,
      end: match.index + match[0].length,
    }))
    .filter(({ word }) => !box.cut.without.includes(word));
  const pairs = box.pairs
    ? words.slice(1).map((second, j) => ({ ...words[j], word: `${words[j].word} ${second.word}`, end: second.end }))
    : [];
  return [words, [...words, ...pairs]];
}

function softmax(values, temperature) {
  const top = largest(values);
  const powers = values.map((x) => Math.exp((x - top) / temperature));
  const all = sum(powers);
  return powers.map((x) => x / all);
}

// Of each model: attention scores a and polarity scores s, by word and class.
function reading_of(words) {
  return models.map((k) => {
    const rows = words.map(({ word }) => {
      const at = (k * (box.words.length + 1) + (ids.get(word) ?? box.words.length)) * width;
      return [...scores.subarray(at, at + width)];
    });
    const a = rows.map((row) => row[0]);
    return { a, weight: softmax(a, 1), s: rows.map((row) => (width === 2 ? [0, row[1]] : row.slice(1))) };
  });
}

function nodes(n) {
  const count = Math.min(Math.ceil(n / 2), Math.ceil(Math.sqrt(18.5 * n)) + 1);
  return [...Array(count).keys()].map((i) => {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let step = 0; step < 100; step++) {
      let [before, p] = [0, 1];
      for (let j = 1; j <= count; j++) [before, p] = [p, ((2 * j - 1) * x * p - (j - 1) * before) / j];
      slope = (count * (x * p - before)) / (x * x - 1);
      x -= p / slope;
      if (Math.abs(p / slope) < 1e-15) break;
    }
    return [(1 + x) / 2, 1 / ((1 - x * x) * slope * slope)];
  });
}

// As explain.shapley: a trapezoid in log t, Gauss and Legendre's nodes in p.
function shapley(a, s) {
  const [STEP, n, middle] = [0.28, s.length, mean(s)];
  const values = new Float64Array(n).fill(middle / n);
  const [lost, y, q] = [0, 0, 0].map(() => new Float64Array(n));
  const points = nodes(n);
  const end = Math.log(40) + STEP - a.reduce((x, z) => Math.min(x, z), Infinity);
  for (let log = -36 - largest(a); log < end; log += STEP) {
    for (let j = 0; j < n; j++) {
      const tw = Math.exp(log + a[j]);
      lost[j] = -Math.expm1(-tw);
      y[j] = tw === Infinity ? 0 : (s[j] - middle) * tw * Math.exp(-tw);
    }
    for (const [p, w] of points) {
      let [product, total] = [STEP * w, 0];
      for (let j = 0; j < n; j++) {
        q[j] = 1 - p * lost[j];
        product *= q[j];
        total += y[j] / q[j];
      }
      if (product > 0) for (let j = 0; j < n; j++) values[j] += (product / q[j]) * (y[j] / q[j] - lost[j] * p * total);
    }
  }
  return values;
}

// As ask.fewest_removed.
function fewest(reading, answer, n) {
  const weight = reading.map(({ a }) => a.map((x) => Math.exp(x - largest(a))));
  const rivals = [...reading[0].s[0].keys()].filter((c) => c !== answer);
  const leads = rivals.map((c) =>
    reading.map(({ s }, k) => s.map((each, j) => weight[k][j] * (each[c] - each[answer]))),
  );
  const kept = new Uint8Array(n).fill(1);
  const of_kept = (values) => {
    let all = 0;
    for (let j = 0; j < n; j++) if (kept[j]) all += values[j];
    return all;
  };
  let choices = 1;
  for (let size = 1; size < n; size++) {
    choices = Math.round((choices * (n - size + 1)) / size);
    if (n * choices > box.tried) return { turned: null, tried: size - 1 };
    let best = { lead: 0, turned: null };
    const removed = [];
    const visit = (from) => {
      for (let j = from; j < n && removed.length < size; j++) {
        removed.push(j);
        kept[j] = 0;
        if (removed.length < size) visit(j + 1);
        else {
          const all = weight.map(of_kept);
          leads.forEach((lead, i) => {
            const x = mean(models.map((k) => of_kept(lead[k]) / all[k]));
            if (x > best.lead * (1 + 1e-6)) best = { lead: x, turned: [...removed], to: rivals[i] };
          });
        }
        kept[j] = 1;
        removed.pop();
      }
    };
    visit(0);
    if (best.turned) return { turned: best.turned, to: best.to, tried: size };
  }
  return { turned: null, tried: n - 1 };
}

function ask(text) {
  text = text.normalize("NFC");
  const [words, all] = cut(text);
  if (!words.length) return null;
  const reading = reading_of(all);
  const logits = reading.map(({ weight, s }) => s[0].map((_, c) => sum(weight.map((w, j) => w * s[j][c]))));
  const probabilities = softmax(
    logits[0].map((_, c) => mean(logits.map((z) => z[c]))),
    box.temperature,
  );
  const answer = probabilities.indexOf(largest(probabilities));
  const single = logits.map((z) => softmax(z, box.temperature)[answer]);
  const own = reading.map(({ s }) => s.map((each) => (width === 2 ? (2 * answer - 1) * each[1] : each[answer])));
  const share = models.map((k) => shapley(reading[k].a, own[k]));
  return {
    text,
    answer,
    probabilities,
    low: Math.min(...single),
    high: largest(single),
    words: all.map((word, j) => ({
      ...word,
      known: ids.has(word.word),
      attention: mean(reading.map(({ weight }) => weight[j])),
      contribution: mean(models.map((k) => reading[k].weight[j] * own[k][j])),
      shapley: mean(share.map((values) => values[j])),
    })),
    unseen: [...new Set(words.map(({ word }) => word).filter((word) => !ids.has(word)))],
    ...(box.pairs ? { turned: null, tried: 0 } : fewest(reading, answer, words.length)),
  };
}

function drawAnswer() {
  const result = find("answer");
  result.replaceChildren();
  const said = ask(find("new").value);
  if (!said) return make("p", "There is no word in this text.", result);
  const line = make("p", undefined, result);
  make("bdi", short(classes[said.answer]), make("strong", undefined, line));
  line.append(
    `, probability ${sure(said.probabilities[said.answer])} (the five models: ${sure(said.low)} to ${sure(said.high)})`,
  );
  const top = largest(said.words.map((word) => word.attention));
  drawText(
    result,
    said.text,
    said.words
      .filter(({ word }) => !box.pairs || !word.includes(" "))
      .map((word) => [word.begin, word.end, word.attention / top, word.contribution]),
  );
  legend(result);
  const note = (text) => make("p", text, result, "note");
  if (box.nothing) note("Take care: on texts they had not seen, these models were no better than chance.");
  if (!said.words.some(({ known }) => known))
    note("Take care: none of these words is known, so this answer is a guess.");
  if (said.unseen.length) note(`Never seen, or in one text only: ${said.unseen.join(", ")}.`);
  const few = said.tried === 1 ? "a single word" : `up to ${said.tried} words`;
  if (said.turned) {
    const named = said.turned.map((j) => `“${said.words[j].word}”`).join(", ");
    note(`Without ${named} the answer would be ${short(classes[said.to])}; no smaller removal turns it.`);
  } else if (said.tried) note(`No removal of ${said.tried < said.words.length - 1 ? few : "words"} turns the answer.`);
  const lines = said.words.map(({ word, contribution, shapley, attention }) => [
    short(word),
    signed(contribution),
    signed(shapley),
    number(attention),
  ]);
  drawNumbers(result, ["word", "contribution", "Shapley value", "attention"], lines);
}
find("ask-button").addEventListener("click", drawAnswer);
find("new").addEventListener("keydown", (event) => event.ctrlKey && event.key === "Enter" && drawAnswer());
