// --- The texts: those that hold a word, or all.
const ORDERS = {
  "strongest push first": (a, b) => Math.abs(b.push) - Math.abs(a.push),
  "surest first": (a, b) => b.probability - a.probability,
  "least sure first": (a, b) => a.probability - b.probability,
};

const everyText = texts.texts.map(([number, label, answer, probability, suspect, text, words, pairs]) => {
  return { number, right: label === answer, label, answer, probability, suspect, text, words, pairs };
});

// The texts that hold the word of a row: each with its push, and the place where the word stands first.
function textsWith(row) {
  const place = rows.indexOf(row);
  const found = (numbers, size, at) =>
    [...Array(numbers.length / size).keys()].filter((j) => numbers[size * j + at] === place);
  return everyText.flatMap((text) => {
    const [single, pairs] = [found(text.words, 5, 2), found(text.pairs, 2, 0)];
    if (!single.length && !pairs.length) return [];
    const pushes = [...single.map((j) => text.words[5 * j + 4]), ...pairs.map((j) => text.pairs[2 * j + 1])];
    return [{ ...text, push: pushes.reduce((a, b) => a + b, 0) / 100, first: [...single, ...pairs][0] }];
  });
}

// kind, order: what is shown of them, and how; change(kind, order) where another is chosen.
function drawTexts(part, held, of_all, orders, kind, order, change) {
  part.replaceChildren();
  const tools = make("div", undefined, part, "tools");
  const of_kind = (kind) => held.filter(({ right }) => !kind || right === (kind === "right"));
  const choice = (name, options, value) => {
    const select = make("select", undefined, make("label", name, tools));
    for (const [value, name] of options) make("option", name, select).value = value;
    select.value = value;
    return select;
  };
  const named = [...KINDS].map(([kind, name]) => [kind, `${name} (${count(of_kind(kind).length)})`]);
  const chosen = [
    choice("Show", named, kind),
    choice(
      "Order",
      orders.map((name) => [name, name]),
      order,
    ),
  ];
  chosen.forEach((select, i) =>
    select.addEventListener("change", () => {
      change(...chosen.map(({ value }) => value));
      part.querySelectorAll("select")[i].focus();
    }),
  );
  const sample = `This page holds ${count(held.length)} of ${count(of_all)} texts: a sample, without very long ones.`;
  if (held.length < of_all) make("p", sample, part, "note");
  drawList(part, of_kind(kind).sort(ORDERS[order]));
}

function drawList(part, wanted) {
  const list = make("div", undefined, part);
  const more = make("button", "Show more texts", make("p", undefined, part));
  const add = (most) => {
    const shown = list.children.length;
    for (const each of wanted.slice(shown, shown + most)) drawOne(each, list);
    more.hidden = list.children.length >= wanted.length;
    return list.children[shown];
  };
  more.addEventListener("click", () => add(10).querySelector("summary").focus());
  if (!add(3)) make("p", "None.", part, "soft");
}

function drawOne({ number: row, label, answer, probability, text, words, push, first = 0 }, parent) {
  const LONG = 40; // words on either side, beyond which a text is cut
  const card = make("div", undefined, parent, "card");
  const line = make("p", `Row ${row}: answer `, card, "soft");
  make("bdi", short(classes[answer]), make("strong", undefined, line));
  line.append(` (${sure(probability)}), label `);
  make("bdi", short(classes[label]), make("strong", undefined, line));
  if (push) line.append(`; the word pushes ${push < 0 ? "away from" : "towards"} this answer by ${signed(push)}`);
  const [letters, coloured] = [[...text], []];
  for (let j = 0, at = 0; j < words.length; j += 5) {
    const begin = at + words[j];
    at = begin + words[j + 1];
    coloured.push([begin, at, words[j + 3] / 10, words[j + 4] / 100, words[j + 2]]);
  }
  const folded = (title, draw) => {
    const whole = make("details", undefined, card, "note");
    make("summary", title, whole);
    whole.addEventListener("toggle", () => whole.children[1] ?? draw(whole));
  };
  if (coloured.length <= 3 * LONG) drawText(card, letters, coloured);
  else {
    const near = coloured.slice(Math.max(0, first - LONG), first + LONG);
    const [from, to] = [near[0][0], near.at(-1)[1]];
    const moved = near.map(([begin, end, ...rest]) => [begin - from + 1, end - from + 1, ...rest]);
    drawText(card, ["… ", ...letters.slice(from, to), " …"], moved);
    folded(`The text (${count(coloured.length)} words)`, (whole) => drawText(whole, letters, coloured));
  }
  folded("The numbers of each word", (whole) => {
    const lines = coloured.map(([begin, end, , push, place]) => [
      place < 0 ? letters.slice(begin, end).join("") : link(rows[place][0]),
      signed(push),
    ]);
    drawNumbers(whole, ["word", "push"], lines);
  });
}

{
  const part = make("div", undefined, find("texts"));
  const names = Object.keys(ORDERS).slice(1);
  const show = (kind, order) => drawTexts(part, everyText, texts.of, names, kind, order, show);
  show("", names[0]);
  const doubted = everyText.filter(({ suspect }) => suspect);
  if (doubted.length)
    drawList(
      find("labels"),
      doubted.sort((a, b) => a.suspect - b.suspect),
    );
}
