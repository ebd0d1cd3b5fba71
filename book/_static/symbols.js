// Symbols in formulas say what they mean: on hover, on tap, and by arrow keys where a formula has the focus, which MathJax
// lets each of them have. What they say stands in symbols-data.js; without this file formulas are what they were.
(() => {
  const SCRIPTS = ["msub", "msup", "msubsup", "mover", "TeXAtom"];
  const here = decodeURIComponent(location.pathname.split("/").pop()).replace(/\.html$/, "");
  const known = new Map(); // letters -> entry of symbols-data.js
  const found = new WeakMap(); // formula -> its symbols: { formula, node, entry }
  let learning, learned, shown, pinned, pointed, wait; // pinned: shown until it is closed

  const note = Object.assign(document.createElement("div"), { className: "symbol-note", hidden: true, tabIndex: -1 });
  note.setAttribute("role", "status");
  document.addEventListener("DOMContentLoaded", () => document.body.append(note));
  const formulaOf = (target) => target.closest?.(".bd-article mjx-container");

  // The letters of parts of a formula, less what does not change their meaning: the transposed, and the text it is of.
  function letters(...parts) {
    const codes = parts.flatMap((part) => [...part.querySelectorAll("[data-c]")].map((one) => parseInt(one.dataset.c, 16)));
    return String.fromCodePoint(...codes).replace(/⊤|\(𝑡\)/gu, "");
  }

  // A letter with its indices and accents, and how it may stand in the list, the fullest first.
  function grown(node) {
    const keys = [letters(node)];
    for (let up = node.parentNode; SCRIPTS.includes(up.dataset.mmlNode) && up.firstElementChild === node; up = up.parentNode) {
      if (up.dataset.mmlNode === "TeXAtom" && up.childElementCount > 1) break;
      if (up.dataset.mmlNode === "msup" && keys[0] === "𝑒" && letters(up) !== "𝑒") return { node, keys: [] }; // the number e
      if (up.dataset.mmlNode === "msubsup") keys.unshift(letters(node, up.lastElementChild)); // without what stands above
      keys.unshift(letters(up));
      node = up;
    }
    return { node, keys };
  }

  async function learn() {
    // What a letter means on this page alone comes last, and stays.
    const mine = SYMBOLS.filter((one) => !one.only || one.only.includes(here)).sort((a, b) => !!a.only - !!b.only);
    for (const entry of mine) {
      for (const tex of [entry.tex, ...(entry.also || [])]) {
        const drawn = await MathJax.tex2svgPromise(tex, { display: false });
        entry.drawn ||= drawn.querySelector("svg").outerHTML;
        known.set(grown(drawn.querySelector('[data-mml-node="mi"]')).keys[0], entry);
      }
    }
    learned = true;
  }
  const ready = () => (learning ||= learn());

  function symbolsOf(formula) {
    if (found.has(formula)) return found.get(formula);
    const symbols = [];
    for (const letter of formula.querySelectorAll('[data-mml-node="mi"]')) {
      if (symbols.some(({ node }) => node.contains(letter))) continue;
      const { node, keys } = grown(letter);
      const entry = keys.map((key) => known.get(key)).find(Boolean);
      if (entry) symbols.push({ formula, node, entry });
    }
    found.set(formula, symbols);
    return symbols;
  }

  // The symbol at a point, or the nearest within reach: a fingertip is larger than an index.
  function symbolAt({ target, clientX: x, clientY: y }, reach) {
    const away = ({ node }) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    };
    const near = symbolsOf(formulaOf(target)).map((one) => [away(one), one]).sort(([a], [b]) => a - b);
    return near.length && near[0][0] <= reach ? near[0][1] : undefined;
  }

  function show(symbol, how) {
    hide();
    [shown, pinned] = [symbol, how !== "pointed"];
    const { formula, node, entry } = symbol;
    const keys = how === "keys" ? "<p><small>← → other symbols · Enter all symbols · Esc closes</small></p>" : "";
    note.innerHTML = `<strong>${entry.drawn}<span class="visually-hidden">${entry.plain}</span> ${entry.name}</strong>
      <p>${entry.meaning || ""}</p><small>${entry.shape || "on this page"} · <a href="symbols.html#${entry.id || ""}">all symbols</a></small>${keys}`;
    note.hidden = false;
    node.classList.add("symbol-on");
    if (how === "keys") node.scrollIntoView({ block: "nearest", inline: "nearest" });
    // Below the formula, or above it, so that it covers nothing of it.
    const { top, bottom } = formula.getBoundingClientRect();
    const [left, view] = [node.getBoundingClientRect().left, document.documentElement];
    const fits = bottom + note.offsetHeight < view.clientHeight || top < note.offsetHeight;
    note.style.left = `${scrollX + Math.max(8, Math.min(left, view.clientWidth - note.offsetWidth - 8))}px`;
    note.style.top = `${scrollY + (fits ? bottom : top - note.offsetHeight)}px`;
  }

  function hide() {
    clearTimeout(wait);
    shown?.node.classList.remove("symbol-on");
    shown = undefined;
    note.hidden = true;
  }

  document.addEventListener("pointermove", (event) => {
    const formula = formulaOf(event.target);
    if (formula) ready();
    if (event.pointerType === "touch" || !learned) return;
    const symbol = formula && symbolAt(event, 2);
    const over = note.contains(event.target) ? note : symbol?.node || formula;
    if (over === pointed) return;
    pointed = over;
    clearTimeout(wait);
    if (symbol && symbol !== shown) wait = setTimeout(show, 200, symbol, "pointed");
    else if (shown && !pinned && over !== note && formula !== shown.formula) wait = setTimeout(hide, 300);
  });

  document.addEventListener("click", async (event) => {
    if (note.contains(event.target)) return;
    const symbol = formulaOf(event.target) && (await ready(), symbolAt(event, 12));
    if (symbol) show(symbol, "pressed");
    else hide();
  });

  async function walk(formula, step) {
    await ready();
    // Each symbol once; of a formula that scrolls all of them, so that its end comes into view.
    const wide = formula.scrollWidth > formula.clientWidth;
    const first = ({ entry }, i, all) => wide || all.findIndex((one) => one.entry === entry) === i;
    const each = symbolsOf(formula).filter(first);
    const at = shown?.formula === formula ? each.findIndex(({ node, entry }) => (wide ? node === shown.node : entry === shown.entry)) : Math.min(-step, 0);
    if (each.length) show(each[(at + step + each.length) % each.length], "keys");
    else formula.scrollBy(40 * step, 0);
  }

  // Before MathJax, whose arrow keys go from formula to formula, as Tab does, and whose Enter opens a menu.
  const pressed = (event) => {
    const [formula, step] = [formulaOf(event.target), { ArrowRight: 1, ArrowLeft: -1 }[event.key]];
    if (event.key === "Escape" && shown) hide();
    else if (formula && step) walk(formula, step);
    else if (formula && event.key === "Enter" && shown) note.querySelector("a").click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  document.addEventListener("keydown", pressed, true);
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (shown && formulaOf(target) === shown.formula && !note.contains(relatedTarget)) hide();
  });
})();
