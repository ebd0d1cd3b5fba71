// What has been opened may be wider than its place: the theme, which lets Tab reach what scrolls, asks at every resize.
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);

// What is set or loaded after the page has gone to a place in it moves the place: it is gone to again, until one acts.
addEventListener("DOMContentLoaded", () => {
  if (!location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") return;
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const moved = new ResizeObserver(() => place?.scrollIntoView({ behavior: "instant" }));
  for (const kind of ["wheel", "pointerdown", "keydown"])
    addEventListener(kind, () => moved.disconnect(), { once: true, passive: true });
  moved.observe(document.body);
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
