// What of a page stands on paper: its article without what only a screen can do. Returns its XHTML, the styles that it
// brings along, and the level, text and anchor of each heading.
async ([name, names, site, pictures]) => {
  const CONTROLS = /^(tabindex|aria-(pressed|value.*))$/;
  await window.MathJax?.startup?.promise;
  const article = document.querySelector("article.bd-article");
  const paper = article.cloneNode(true);
  const originals = [...article.querySelectorAll("*")];
  const hidden = (element) => getComputedStyle(element).display === "none" && !element.closest("svg, style");
  [...paper.querySelectorAll("*")].forEach((copy, place) => hidden(originals[place]) && copy.remove());
  const drop = (selector) => paper.querySelectorAll(selector).forEach((element) => element.remove());
  [...paper.querySelectorAll("uaftc-lab")].forEach((lab, place) => {
    const where = site ? `<a href="${site}${name}.html">Move λ on the page.</a>` : "On its page λ can be moved.";
    const figure = document.createElement("figure");
    figure.className = "live";
    figure.innerHTML = `<img src="${pictures[place]}" /><figcaption>A live figure as it begins. ${where}</figcaption>`;
    figure.querySelector("img").alt = lab.textContent;
    lab.replaceWith(figure);
  });
  paper.querySelectorAll("button.set").forEach((button) => button.replaceWith(button.textContent));
  paper.querySelectorAll("iframe").forEach((frame) => frame.replaceWith(`On its page: ${frame.title}.`));
  drop("script, button, input, select, .headerlink, .control, mjx-assistive-mml, details.hide, summary svg");
  drop("details.claim > p:last-child"); // its cases as a file, and a link to itself
  drop("path:not([d])"); // of a blank in a formula; an ePub must not have it

  const replaced = (element, tag) => {
    const other = document.createElement(tag);
    for (const { name, value } of element.attributes) if (name !== "open") other.setAttribute(name, value);
    other.append(...element.childNodes);
    element.replaceWith(other);
    return other;
  };
  drop("details.section-more > summary, details.uaftc-statements > :not(summary), ul.uaftc-checks details > :not(summary)");
  paper.querySelectorAll("summary").forEach((summary) => replaced(summary, "p").classList.add("summary"));
  paper.querySelectorAll("details").forEach((details) => replaced(details, "div"));
  paper.querySelectorAll("dt dl, dt dd").forEach((parameters) => replaced(parameters, "span"));

  for (const formula of paper.querySelectorAll("mjx-container")) {
    const drawn = document.createElement("span");
    drawn.className = formula.getAttribute("display") ? "formula display" : "formula";
    drawn.append(...formula.childNodes);
    formula.replaceWith(drawn);
  }
  for (const element of paper.querySelectorAll("[role], [tabindex], [aria-label], [aria-pressed]")) {
    for (const name of element.getAttributeNames()) if (CONTROLS.test(name)) element.removeAttribute(name);
    if (element.hasAttribute("aria-label")) element.setAttribute("role", "img");
    else element.removeAttribute("role");
  }
  for (const link of paper.querySelectorAll("a[href]")) {
    const [page, anchor] = link.getAttribute("href").split("#");
    const target = page === "" ? name : page.replace(/\.html$/, "");
    if (/^(https?|mailto):/.test(page)) continue;
    if (names.includes(target)) link.setAttribute("href", `${target}.xhtml${anchor ? "#" + anchor : ""}`);
    else if (site && !page.startsWith("data:")) link.setAttribute("href", new URL(link.getAttribute("href"), site).href);
    else link.replaceWith(...(link.closest("figcaption") ? [] : link.childNodes)); // there it is *The numbers (CSV)*
  }
  const styles = [...paper.querySelectorAll("style")].filter((style) => !style.closest("svg"));
  styles.forEach((style) => style.remove());
  const headings = [...paper.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => [
    Number(heading.localName[1]), heading.textContent.trim(), heading.closest("section").id,
  ]);
  const xhtml = new XMLSerializer().serializeToString(paper.querySelector("section"));
  return [xhtml, styles.map((style) => style.textContent), headings];
};
