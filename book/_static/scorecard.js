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
  const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const buttons = verdicts.map((verdict) => made("button", {
    type: "button", textContent: `${verdict} ${count(verdict)}`, ariaPressed: "false",
    onclick: ({ target }) => {
      target.ariaPressed = String(target.ariaPressed !== "true");
      filter();
    },
  }));
  const search = made("input", { type: "search", placeholder: "search the sentences", ariaLabel: "search the sentences", oninput: filter });
  const told = made("span", { role: "status" });
  bar.append(...buttons, search, told);

  function filter() {
    const pressed = verdicts.filter((_, i) => buttons[i].ariaPressed === "true");
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
