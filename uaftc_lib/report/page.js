"use strict";
const { classes, rows, several } = JSON.parse(document.getElementById("numbers").textContent);
const SHOWN = 40;
const find = (id) => document.getElementById(id);
const state = { chosen: 0, key: "sure", down: true, shown: SHOWN, open: null };
const make = (name, text, parent) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
};
const cell = (row, text, name = "") => {
  const made = make("td", text, row);
  made.className = name;
  return made;
};
const number = (x) => (x === null ? "–" : (x <= -0.005 ? "−" : "") + Math.abs(x).toFixed(2));
const signed = (x) => (x >= 0.005 ? "+" : "") + number(x);
const interval = (low, high) => (low === null ? "–" : `${number(low)} to ${number(high)}`);
const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text); // as in page.py
const isolated = (text, parent) => make("bdi", short(text), parent);

// A row: word, texts, attention, then by class influence, its ends over texts and over runs, leave-one-out, lift.
const keys = {
  sure: (row, k) => (several && row[4][k] !== null ? Math.min(row[4][k], row[6][k]) : row[4][k]),
  word: (row) => row[0],
  influence: (row, k) => row[3][k],
  low: (row, k) => row[4][k],
  low_run: (row, k) => row[6][k],
  leave: (row, k) => row[8][k],
  attention: (row) => row[2],
  lift: (row, k) => row[9][k],
  texts: (row) => row[1],
};

const told = {
  influence: (row, k) => signed(row[3][k]),
  low: (row, k) => interval(row[4][k], row[5][k]),
  low_run: (row, k) => interval(row[6][k], row[7][k]),
  leave: (row, k) => signed(row[8][k]),
  attention: (row) => number(row[2]),
  lift: (row, k) => number(row[9][k]),
  texts: (row) => row[1].toLocaleString("en"),
};
const heads = [...document.querySelectorAll("th[data-key]")];

function ordered() {
  const wanted = find("search").value.trim().toLowerCase().replaceAll("’", "'");
  const key = (row) => keys[state.key](row, state.chosen);
  const sign = state.down ? -1 : 1;
  return rows
    .filter((row) => row[0].includes(wanted))
    .sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    });
}

// The same picture as in the lists of the classes, with zero in the middle.
function bar(value, intervals, largest) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 200 12");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const place = (x) => 100 + (98 * x) / largest;
  const part = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, x] of Object.entries(attributes)) element.setAttribute(key, x);
    svg.append(element);
  };
  part("line", { class: "axis", x1: 100, x2: 100, y1: 0, y2: 12 });
  const [from, to] = value < 0 ? [place(value), 100] : [100, place(value)];
  part("rect", { class: value < 0 ? "fill minus" : "fill", x: from, width: to - from, y: 2, height: 8 });
  intervals.forEach(([low, high], i) => {
    const y = several ? 4 + 4 * i : 6;
    if (low !== null) part("line", { class: "range", x1: place(low), x2: place(high), y1: y, y2: y });
  });
  return svg;
}

function detail(row, into) {
  const line = make("tr", undefined, into);
  line.className = "detail";
  const box = cell(line);
  box.colSpan = heads.length;
  const title = make("p", undefined, box);
  isolated(row[0], title);
  title.append(`: how much it drives each class. In ${row[1].toLocaleString("en")} texts, with a mean share of `);
  title.append(`attention of ${number(row[2])}.`);
  const table = make("table", undefined, box);
  const largest = Math.max(1e-9, ...row.slice(3, 8).flat().map(Math.abs));
  const order = classes.map((_, k) => k).sort((a, b) => row[3][b] - row[3][a]);
  const between = order.length > 12 ? order.slice(6, -3) : [];
  for (const k of order) {
    const one = make("tr", undefined, table);
    one.hidden = between.includes(k);
    isolated(classes[k], cell(one));
    const intervals = [[row[4][k], row[5][k]], [row[6][k], row[7][k]]].slice(0, several ? 2 : 1);
    const graph = cell(one, undefined, "bar");
    graph.append(bar(row[3][k], intervals, largest));
    const spans = intervals.map(([low, high], i) => `${["texts", "runs"][i]} ${interval(low, high)}`);
    const small = make("small", undefined, graph);
    for (const part of [...spans, `probability ${signed(row[8][k])}`, `lift ${number(row[9][k])}`])
      make("span", part, small);
    cell(one, signed(row[3][k]));
  }
  if (!between.length) return;
  const all = make("button", `Show the ${between.length} classes between`, make("p", undefined, box));
  all.addEventListener("click", () => {
    for (const one of table.rows) one.hidden = false;
    all.remove();
  });
}

function draw() {
  const found = ordered();
  const body = find("words");
  body.replaceChildren();
  for (const head of heads) {
    const here = head.dataset.key === state.key;
    head.setAttribute("aria-sort", here ? (state.down ? "descending" : "ascending") : "none");
    head.classList.toggle("chosen", here);
  }
  found.slice(0, state.shown).forEach((row, place) => {
    const line = make("tr", undefined, body);
    const button = make("button", undefined, cell(line));
    isolated(row[0], button);
    button.setAttribute("aria-expanded", String(state.open === row));
    button.addEventListener("click", () => {
      state.open = state.open === row ? null : row;
      draw();
      find("words").querySelectorAll(":scope > tr > td > button")[place].focus();
    });
    for (const head of heads.slice(1)) cell(line, told[head.dataset.key](row, state.chosen), head.className);
    if (state.open === row) detail(row, body);
  });
  find("found").textContent = found.length
    ? `${Math.min(state.shown, found.length)} of ${found.length.toLocaleString("en")} words`
    : "no such word in this table; words.csv holds every word";
  find("more").hidden = found.length <= state.shown;
  find("order").value = state.key;
}

classes.forEach((name, k) => {
  const option = make("option", short(name), find("class"));
  option.value = k;
});
find("class").addEventListener("change", (event) => {
  Object.assign(state, { chosen: Number(event.target.value), shown: SHOWN });
  draw();
});
find("search").addEventListener("input", () => {
  Object.assign(state, { shown: SHOWN, open: null });
  draw();
});
find("more").addEventListener("click", () => {
  state.shown += 5 * SHOWN;
  draw();
});
function sortBy(key) {
  const same = state.key === key;
  Object.assign(state, { key, down: same ? !state.down : key !== "word" });
  draw();
}
const offer = (key, text) => (make("option", text, find("order")).value = key);
offer("sure", "surest push");
for (const head of heads) {
  offer(head.dataset.key, head.textContent);
  head.firstElementChild.addEventListener("click", () => sortBy(head.dataset.key));
}
find("order").addEventListener("change", (event) => sortBy(event.target.value));
find("table").hidden = false;
draw();
