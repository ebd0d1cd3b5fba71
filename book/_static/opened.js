// What has been opened may be wider than its place: the theme, which lets Tab reach what scrolls, asks at every resize.
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);

// Formulas that are set after the page has gone to a place in it move the place: it is gone to again, unless one has left.
addEventListener("load", async () => {
  let left = !location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  for (const kind of ["wheel", "pointerdown", "keydown"]) addEventListener(kind, () => (left = true), { once: true });
  await window.MathJax?.startup?.promise;
  if (!left) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView({ behavior: "instant" });
});

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
