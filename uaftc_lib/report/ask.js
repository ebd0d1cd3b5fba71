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
  const STEP = 0.28;
  const middle = mean(s);
  const values = s.map(() => middle / s.length);
  const points = nodes(s.length);
  for (let log = -36 - largest(a); log < Math.log(40) + STEP - Math.min(...a); log += STEP) {
    const tw = a.map((x) => Math.exp(log + x));
    const lost = tw.map((x) => -Math.expm1(-x));
    const y = tw.map((x, j) => (s[j] - middle) * (x === Infinity ? 0 : x * Math.exp(-x)));
    for (const [p, w] of points) {
      const q = lost.map((x) => 1 - p * x);
      const product = STEP * w * q.reduce((one, other) => one * other, 1);
      const total = p * sum(y.map((x, j) => x / q[j]));
      for (const j of values.keys()) values[j] += (product / q[j]) * (y[j] / q[j] - lost[j] * total);
    }
  }
  return values;
}

// As ask.fewest_removed.
function fewest(reading, answer, n) {
  const weight = reading.map(({ a }) => a.map((x) => Math.exp(x - largest(a))));
  const rivals = [...reading[0].s[0].keys()].filter((c) => c !== answer);
  let choices = 1;
  for (let size = 1; size < n; size++) {
    choices *= (n - size + 1) / size;
    if (Math.round(choices) > box.tried) return { turned: null, tried: size - 1 };
    let best = { lead: 0, turned: null };
    const removed = [];
    const visit = (from) => {
      if (removed.length < size) {
        for (let j = from; j < n; j++) {
          removed.push(j);
          visit(j + 1);
          removed.pop();
        }
        return;
      }
      const kept = [...Array(n).keys()].filter((j) => !removed.includes(j));
      const all = weight.map((w) => sum(kept.map((j) => w[j])));
      for (const c of rivals) {
        const lead = mean(
          models.map(
            (k) => sum(kept.map((j) => weight[k][j] * (reading[k].s[j][c] - reading[k].s[j][answer]))) / all[k],
          ),
        );
        if (lead > best.lead) best = { lead, turned: [...removed] };
      }
    };
    visit(0);
    if (best.turned) return { turned: best.turned, tried: size };
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
  if (said.unseen.length) make("p", `Never seen, or in one text only: ${said.unseen.join(", ")}.`, result, "note");
  const named = said.turned?.map((j) => `“${said.words[j].word}”`).join(", ");
  const none =
    said.tried === said.words.length - 1
      ? "No removal of words turns the answer."
      : `No removal of up to ${said.tried} words turns the answer.`;
  if (!box.pairs)
    make(
      "p",
      named ? `Without ${named} the answer would be another; no smaller removal turns it.` : none,
      result,
      "note",
    );
  const lines = said.words.map(({ word, contribution, shapley, attention }) => [
    short(word),
    signed(contribution),
    signed(shapley),
    number(attention),
  ]);
  drawNumbers(result, ["word", "contribution", "Shapley value", "attention"], lines);
}
find("ask-button").addEventListener("click", drawAnswer);
