// "Re-run this page": the papermill command with the reader's λ and seed.
import { copy, h } from "./controls.js";

function command(lab) {
  const page = /([^/]+?)(\.html?|\.ipynb)?$/.exec(location.pathname)?.[1] ?? "";
  const notebook = lab.getAttribute("notebook") || (/^\d\d_/.test(page) ? page : "00_intro");
  return `papermill book/${notebook}.ipynb out.ipynb -p lam ${lab.state.lam} -p seed ${lab.state.seed}`;
}

// A row of field and button; lab.placeAgain() keeps the field in step.
export function buildAgain(lab) {
  const field = h("input", { type: "text", readOnly: true, class: "command", "aria-label": "command that runs this page's notebook again" });
  const button = h("button", { type: "button", onclick: () => copy(field.value, field).then(() => lab.say("Command copied.")) }, "Copy");
  lab.placeAgain = () => { field.value = command(lab); };
  return h("div", { class: "row" }, field, button);
}
