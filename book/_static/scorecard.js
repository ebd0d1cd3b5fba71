// The scorecard: buttons for verdicts, a search, and links that open their claim. Without this file all claims are shown.
document.addEventListener("DOMContentLoaded", () => {
  const claims = [...document.querySelectorAll("details.claim")];
  const bar = document.querySelector(".scorecard-filter");
  if (!claims.length || !bar) return;

  const count = (verdict) => claims.filter((one) => one.dataset.verdict === verdict).length;
  const verdicts = [...new Set([...JSON.parse(bar.dataset.order), ...claims.map((one) => one.dataset.verdict)])].filter(count);
  const buttons = verdicts.map((verdict) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${verdict} ${count(verdict)}`;
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      filter();
    });
    return button;
  });
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "search the sentences";
  search.setAttribute("aria-label", search.placeholder);
  search.addEventListener("input", filter);
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  bar.append(...buttons, search, told);

  function filter() {
    const pressed = verdicts.filter((_, i) => buttons[i].getAttribute("aria-pressed") === "true");
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of claims) {
      const text = one.textContent.toLowerCase();
      one.hidden = (pressed.length > 0 && !pressed.includes(one.dataset.verdict)) || !words.every((word) => text.includes(word));
      shown += !one.hidden;
    }
    told.textContent = shown === claims.length ? "" : `${shown} of ${claims.length}`;
  }

  function open() {
    const one = claims.find((each) => `#${each.id}` === decodeURIComponent(location.hash));
    if (!one) return;
    one.hidden = false;
    one.open = true;
    one.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  open();
});
