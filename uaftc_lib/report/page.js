"use strict";
const { classes, shares, rows, texts, box } = JSON.parse(document.getElementById("numbers").textContent);
const SHOWN = 40;
const KINDS = new Map([
  ["", "all"],
  ["right", "answered right"],
  ["wrong", "answered wrong"],
]);
const find = (id) => document.getElementById(id);
const make = (name, text, parent, kind) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  if (parent) parent.append(element);
  return element;
};
const count = (x) => x.toLocaleString("en");
const number = (x) => {
  if (x === null) return "–";
  const digits = (Math.abs(x) < 100) + (Math.abs(x) < 10); // as in page.py
  const size = Math.abs(x).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (x <= -0.005 ? "−" : "") + size;
};
const signed = (x) => (x >= 0.005 ? "+" : "") + number(x);
const percent = (x) => `${(100 * x).toFixed(0)}\u00a0%`;
const sure = (x) => percent(x).replace(/^100/, "more than 99"); // no model is ever 100 % sure
const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text); // as in page.py

// A row: word, texts, attention, then by class influence, its lower and upper ends, probability, total, the ends of the
// share of the class, texts of the class; then the classes that list it.
const columns = {
  word: (row) => row[0],
  class: (row, k) => classes[k],
  listed: (row, k) => row[11].includes(k),
  influence: (row, k) => row[3][k],
  influence_low: (row, k) => row[4][k],
  influence_high: (row, k) => row[5][k],
  probability: (row, k) => row[6][k],
  attention: (row) => row[2],
  texts: (row) => row[1],
  texts_of_class: (row, k) => row[10][k],
  share_low: (row, k) => row[8][k],
  share_high: (row, k) => row[9][k],
  total: (row, k) => row[7][k],
};
const orders = { ...columns, listed: (row, k) => columns.total(row, k) + 1e9 * row[11].includes(k) };
const told = { influence: signed, total: signed, probability: signed, texts: count, texts_of_class: count };
const heads = [...document.querySelectorAll("th[data-key]")];
const by_word = new Map(rows.map((row) => [row[0], row]));

// --- What is chosen stands in the address, and comes from there.
const state = {};
function read() {
  const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const [, minus, order] = /^(-?)(.*)$/.exec(given.get("order") ?? "");
  state.order = order in orders ? order : "listed";
  state.down = (state.order !== "word") === !minus;
  state.chosen = Math.max(0, classes.indexOf(given.get("class")));
  state.search = given.get("search") ?? "";
  state.word = given.get("word");
  state.kind = KINDS.has(given.get("texts")) ? given.get("texts") : "";
  state.shown = SHOWN;
  return location.hash.includes("=");
}
function address(word, chosen = state.chosen) {
  const said = new URLSearchParams();
  const minus = (state.order !== "word") === state.down ? "" : "-";
  if (chosen) said.set("class", classes[chosen]);
  if (state.search) said.set("search", state.search);
  if (minus || state.order !== "listed") said.set("order", minus + state.order);
  if (word !== null) said.set("word", word);
  if (state.kind) said.set("texts", state.kind);
  return `#${said}`;
}
function change(what) {
  Object.assign(state, { shown: SHOWN }, what);
  history.replaceState(null, "", address(state.word));
  draw();
}

function link(word, parent) {
  const made = make("a", undefined, parent);
  make("bdi", short(word), made);
  made.href = address(word);
  return made;
}

function ordered() {
  const wanted = state.search.trim().toLowerCase().normalize("NFC").replaceAll("’", "'").replace(/[\u2010\u2011]/g, "-");
  const key = (row) => orders[state.order](row, state.chosen);
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
function bar(value, low, high, largest) {
  const make = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, x] of Object.entries(attributes)) element.setAttribute(key, x);
    if (parent) parent.append(element);
    return element;
  };
  const svg = make("svg", { viewBox: "0 0 200 12", preserveAspectRatio: "none", "aria-hidden": "true" });
  const place = (x) => 100 + (98 * x) / largest;
  make("line", { class: "axis", x1: 100, x2: 100, y1: 0, y2: 12 }, svg);
  const [from, to] = value < 0 ? [place(value), 100] : [100, place(value)];
  make("rect", { class: value < 0 ? "fill minus" : "fill", x: from, width: to - from, y: 2, height: 8 }, svg);
  if (low !== null) make("line", { class: "range", x1: place(low), x2: place(high), y1: 6, y2: 6 }, svg);
  return svg;
}

function drawWord() {
  const box = find("word");
  box.hidden = state.word === null;
  box.replaceChildren();
  if (state.word === null) return;
  make("a", "Close", box, "close").href = address(null);
  const title = make("h3", undefined, box);
  make("bdi", short(state.word), title);
  const row = by_word.get(state.word);
  if (!row) {
    make("p", "This word is not in the table of this page; words.csv may hold it.", box);
    return;
  }
  const attention = row[2] === null ? "" : `, with a mean share of attention of ${number(row[2])}`;
  make("p", `In ${count(row[1])} texts${attention}.`, box);
  const table = make("table", undefined, box);
  const largest = Math.max(1e-9, ...row.slice(3, 6).flat().map(Math.abs));
  const order = classes.map((_, k) => k).sort((a, b) => row[3][b] - row[3][a]);
  const parts = state.word.split(" ").map((word) => by_word.get(word));
  if (parts.length === 2 && parts.every(Boolean)) {
    const [k] = order;
    const own = parts.map((part) => `${part[0]} ${signed(part[3][k])}`).join(", ");
    const adds = `A pair: ${signed(row[3][k])} is what it adds for ${short(classes[k])} to what its two words do`;
    make("p", `${adds}. In the mean of their own texts these add: ${own}.`, box);
  }
  const between = order.length > 12 ? order.slice(6, -3) : [];
  for (const k of order) {
    const line = make("tr", undefined, table);
    line.hidden = between.includes(k);
    const name = make("td", undefined, line);
    make("bdi", short(classes[k]), name);
    const ends = row[8][k] === null ? "" : ` (${percent(row[8][k])} to ${percent(row[9][k])})`;
    make("small", `${count(row[10][k])} of its ${count(row[1])} texts${ends}; of all ${percent(shares[k])}`, name);
    const graph = make("td", undefined, line, "bar");
    graph.append(bar(row[3][k], row[4][k], row[5][k], largest));
    const small = make("small", undefined, graph);
    if (row[4][k] !== null) make("span", `${number(row[4][k])} to ${number(row[5][k])}`, small);
    make("span", `probability ${signed(row[6][k])}`, small);
    make("td", signed(row[3][k]), line);
  }
  if (between.length) {
    const all = make("button", `Show the ${between.length} classes between`, make("p", undefined, box));
    all.addEventListener("click", () => {
      for (const line of table.rows) line.hidden = false;
      all.remove();
    });
  }
  if (texts) {
    make("h4", "Texts with this word", box);
    legend(box);
    const [part, held] = [make("div", undefined, box), textsWith(row)];
    const show = (kind, by) => {
      Object.assign(state, { kind, by });
      history.replaceState(null, "", address(state.word));
      drawTexts(part, held, row[1], Object.keys(ORDERS), kind, by, show);
    };
    show(state.kind, state.by ?? Object.keys(ORDERS)[0]);
  }
}

const legend = (parent) => parent.append(...[...document.querySelectorAll("#texts .key")].map((key) => key.cloneNode(true)));

// Words in colour: the attention of each is its background, what it does its underline (as coloured.py).
// text: a string or its characters; words: [begin, end, share of the largest attention, push].
function drawText(parent, text, words) {
  const line = make("p", undefined, parent, "text sentences");
  line.dir = "auto";
  const part = (begin, end) => [].concat(text.slice(begin, end)).join("");
  const strongest = words.reduce((most, word) => Math.max(most, Math.abs(word[3])), 0) || 1;
  let at = 0;
  for (const [begin, end, attention, push] of words) {
    const share = Math.abs(push) / strongest;
    const size = Math.round(10 * share);
    const looks = `${push < 0 ? "against" : "for"}${share >= 0.1 ? " marked" : ""} a${Math.round(10 * attention)} s${size}`;
    line.append(part(at, begin).replace(/\n\s*\n/g, "\n\n"));
    make("span", part(begin, end), line, `w ${looks}`).title = `push ${signed(push)}`;
    at = end;
  }
  line.append(part(at));
}

function drawNumbers(parent, heads, lines) {
  const table = make("table", undefined, parent);
  const head = make("tr", undefined, make("thead", undefined, table));
  for (const name of heads) make("th", name, head).scope = "col";
  const body = make("tbody", undefined, table);
  for (const line of lines) {
    const row = make("tr", undefined, body);
    for (const cell of line) make("td", undefined, row).append(cell);
  }
}

function drawTable() {
  const found = ordered();
  find("rows").replaceChildren();
  for (const head of heads) {
    const here = head.dataset.key === state.order;
    head.setAttribute("aria-sort", here ? (state.down ? "descending" : "ascending") : "none");
    head.classList.toggle("chosen", here);
  }
  for (const row of found.slice(0, state.shown)) {
    const line = make("tr", undefined, find("rows"), columns.listed(row, state.chosen) ? "listed" : "");
    link(row[0], make("td", undefined, line));
    for (const { dataset, className } of heads.slice(1))
      make("td", (told[dataset.key] ?? number)(columns[dataset.key](row, state.chosen)), line, className);
  }
  find("found").textContent = found.length
    ? `${count(Math.min(state.shown, found.length))} of ${count(found.length)} words`
    : "no such word in this table; words.csv may hold it";
  find("more").hidden = found.length <= state.shown;
}

function drawLists() {
  for (const table of document.querySelectorAll(".tops"))
    for (const line of table.tBodies[0].rows)
      line.querySelector("a").href = address(line.dataset.word, Number(table.dataset.class));
}

function draw() {
  find("class").value = state.chosen;
  find("order").value = state.order;
  if (find("search").value !== state.search) find("search").value = state.search;
  drawWord();
  drawTable();
  drawLists();
}

// --- Copy and download: what is shown, under the names of words.csv.
function sheet(shown, k, mark) {
  const safe = (x) => (typeof x === "string" && /^[=+\-@\t\r]/.test(x) && isNaN(x) ? `'${x}` : x);
  const quoted = (x) => (/[",\t\r\n]/.test(x) ? `"${x.replaceAll('"', '""')}"` : x);
  const lines = [Object.keys(columns), ...shown.map((row) => Object.values(columns).map((column) => column(row, k)))];
  return lines.map((line) => line.map((x) => quoted(String(safe(x) ?? ""))).join(mark) + "\n").join("");
}
async function copy(table, button) {
  const shown = [...table.tBodies[0].rows].map((line) => by_word.get(line.dataset.word));
  try {
    await navigator.clipboard.writeText(sheet(shown, Number(table.dataset.class), "\t"));
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(table);
    button.textContent = "not allowed here: it is marked, copy it yourself";
  }
}
function download() {
  const made = make("a");
  made.href = URL.createObjectURL(new Blob([sheet(ordered(), state.chosen, ",")], { type: "text/csv" }));
  made.download = `words ${classes[state.chosen].replace(/[^\p{L}\p{N}]+/gu, " ").trim().slice(0, 60)}.csv`;
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 1000);
}

for (const [k, name] of classes.entries()) make("option", short(name), find("class")).value = k;
make("option", "listed first, by total", find("order")).value = "listed";
for (const head of heads) {
  const key = head.dataset.key;
  make("option", key, find("order")).value = key;
  head.firstElementChild.addEventListener("click", () =>
    change({ order: key, down: state.order === key ? !state.down : key !== "word" }),
  );
}
for (const table of document.querySelectorAll(".tops")) {
  const button = make("button", "copy");
  button.type = "button";
  button.addEventListener("click", () => copy(table, button));
  table.previousElementSibling.before(button);
}
const descending = (key) => change({ order: key, down: key !== "word" });
find("class").addEventListener("change", (event) => change({ chosen: Number(event.target.value) }));
find("order").addEventListener("change", (event) => descending(event.target.value));
find("search").addEventListener("input", (event) => change({ search: event.target.value }));
find("open")?.removeAttribute("hidden");
find("open")?.addEventListener("click", () => {
  const folded = [...document.querySelectorAll(".lists details")];
  const open = folded.some((each) => !each.open);
  for (const each of folded) each.open = open;
  find("open").textContent = open ? "Close all" : "Open all";
});
find("download").addEventListener("click", download);
find("more").addEventListener("click", () => {
  state.shown += 5 * SHOWN;
  drawTable();
});
find("table").hidden = false;
// The keys are at a link that is wholly seen: a browser leaves one that is half out of sight where it is.
document
  .querySelector("nav")
  .addEventListener("focusin", ({ target }) => target.scrollIntoView({ block: "nearest", inline: "nearest" }));
function visit() {
  const chosen = read();
  draw();
  if (chosen) find(state.word === null ? "words" : "word").scrollIntoView();
}
addEventListener("hashchange", () => (location.hash.includes("=") || !location.hash) && visit());
queueMicrotask(visit); // once the other parts of the script are read
