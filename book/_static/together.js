// Words and curves of one colour light up together. Pointed at, a curve or its name in a legend stands out in all panels of
// its figure, and the others fade; so do the words for its kind in the prose of the section, and they light up the curves.
// A tap, or Enter on the first such word of a section, keeps it so; Escape ends it. Without this file nothing is hidden.
(() => {
  const KIND = /^(positive|negative|neutral)(?=$|,| words)/;
  const WORDS = /\b(positive|negative|neutral)(?: |\u00a0)words?\b/gi;
  const NOT_IN = "a, button, code, pre, summary, svg, table, .math, .uaftc-checks";
  const parts = []; // { section, figure, name, kind, element }: curves, their names in legends, words
  let kept; // what stays lit when nothing is pointed at

  // The legend of a drawing names its series, s0, s1, ...; a drawing without one shares the legend before it.
  function readFigure(figure) {
    let names = new Map();
    for (const svg of figure.querySelectorAll("svg")) {
      const series = [...svg.querySelectorAll(".series")];
      const own = new Map(series.map((one) => [one.classList[1], one.textContent.trim()]).filter(([, name]) => name));
      if (own.size) names = own;
      for (const element of series) {
        const name = names.get(element.classList[1]);
        if (name) add({ section: figure.closest("section"), figure, name, kind: KIND.exec(name)?.[1], element });
      }
    }
  }

  function readProse(section) {
    const shown = new Set(parts.filter((one) => one.section === section).map(({ kind }) => kind));
    const own = [...section.querySelectorAll("p, li, figcaption")].filter(
      (one) => one.closest("section") === section && !one.closest(NOT_IN) && !one.querySelector("p, li"),
    );
    const texts = own.flatMap((one) => {
      const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), found = [];
      while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(NOT_IN)) found.push(walker.currentNode);
      return found;
    });
    for (const text of texts) {
      for (const found of [...text.data.matchAll(WORDS)].reverse()) {
        const kind = found[1].toLowerCase();
        if (!shown.has(kind)) continue;
        text.splitText(found.index).splitText(found[0].length);
        const element = Object.assign(document.createElement("span"), { className: `kind ${kind}`, textContent: found[0] });
        text.nextSibling.replaceWith(element);
        add({ section, name: found[0], kind, element });
      }
    }
    for (const kind of shown) {
      const first = section.querySelector(`:scope .kind.${kind}`);
      if (first && first.closest("section") === section) {
        first.tabIndex = 0;
        first.setAttribute("role", "button");
        first.setAttribute("aria-pressed", "false");
      }
    }
  }

  function add(part) {
    parts.push(part);
    part.element.addEventListener("pointerenter", ({ pointerType }) => pointerType !== "touch" && light(part));
    part.element.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && light(kept));
    part.element.addEventListener("focus", () => light(part));
    part.element.addEventListener("blur", () => light(kept));
    part.element.addEventListener("click", () => keep(kept === part ? undefined : part));
    part.element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      keep(kept === part ? undefined : part);
    });
  }

  // What is of a kind stands together in its section, any other curve in its figure.
  const together = (part, one) => (part.kind ? one.kind === part.kind : one.figure === part.figure && one.name === part.name);

  function light(part) {
    for (const one of parts) {
      const near = part && (part.kind ? one.section === part.section : one.figure === part.figure);
      const of_it = near && together(part, one);
      const beside = near && parts.some((each) => each.figure === one.figure && together(part, each));
      one.element.classList.toggle("lit", Boolean(of_it));
      one.element.classList.toggle("faded", Boolean(one.figure && beside && !of_it));
    }
  }

  function keep(part) {
    kept = part;
    for (const { element, kind, section } of parts) {
      if (element.hasAttribute("aria-pressed")) {
        element.setAttribute("aria-pressed", String(Boolean(part?.kind === kind && kind && part.section === section)));
      }
    }
    light(part);
  }

  document.addEventListener("keydown", ({ key }) => key === "Escape" && kept && keep());
  document.addEventListener("DOMContentLoaded", () => {
    const figures = [...document.querySelectorAll("figure.uaftc")];
    figures.forEach(readFigure);
    new Set(figures.map((figure) => figure.closest("section")).filter(Boolean)).forEach(readProse);
  });
})();
