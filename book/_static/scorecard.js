// The scorecard: buttons for verdicts, a search, and links that open their claim. Without this file all claims are shown.
document.addEventListener("DOMContentLoaded", () => {
  const lines = [...document.querySelectorAll("details.claim")];
  const bar = document.querySelector(".scorecard-filter");
  if (!lines.length || !bar) return;

  const plain = (text) => text.toLowerCase().replaceAll("−", "-").replace(/[“”]/g, '"'); // as a keyboard has it
  const order = JSON.parse(bar.dataset.order);
  const claims = lines.filter((one) => order.includes(one.dataset.verdict)); // the others are not graded, nor counted
  const count = (verdict) => claims.filter((one) => one.dataset.verdict === verdict).length;
  const verdicts = order.filter(count);
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
    const words = plain(search.value).split(/\s+/).filter(Boolean);
    for (const one of lines) {
      const text = plain(one.textContent);
      one.hidden = (pressed.length > 0 && !pressed.includes(one.dataset.verdict)) || !words.every((word) => text.includes(word));
    }
    const shown = claims.filter((one) => !one.hidden).length;
    told.textContent = shown === claims.length ? "" : `${shown} of ${claims.length}`;
  }

  function open() {
    const one = lines.find((each) => `#${each.id}` === decodeURIComponent(location.hash));
    if (!one) return;
    one.hidden = false;
    one.open = true;
    one.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  open();
});
