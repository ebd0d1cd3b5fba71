// What has been opened may be wider than its place: the theme, which lets Tab reach what scrolls, asks at every resize.
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);

// A search that is closed gives the keys back to the button that opened it, which the theme has let go.
let opener;
addEventListener("click", ({ target }) => (opener = target.closest?.(".search-button__button") ?? opener), true);
addEventListener(
  "close",
  ({ target }) => {
    const nowhere = document.activeElement === document.body || target.contains(document.activeElement);
    if (target.id === "pst-search-dialog" && nowhere) opener?.focus();
    opener = undefined;
  },
  true,
);

// Formulas are set after the page has gone to the place that its address names, which moves that place: once more.
addEventListener("load", async () => {
  await globalThis.MathJax?.startup?.promise;
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
});
