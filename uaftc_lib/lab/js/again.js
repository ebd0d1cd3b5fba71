// "Re-run this page": the papermill command with the reader's λ and seed.
import { copyButton, h } from "./controls.js";
import { number } from "./draw.js";

function command(lab) {
  const page = /([^/]+?)(\.html?|\.ipynb)?$/.exec(location.pathname)?.[1] ?? "";
  const notebook = lab.getAttribute("notebook") || (/^\d\d_/.test(page) ? page : "00_intro");
  const { parameter, taken } = rule(lab);
  return `papermill book/${notebook}.ipynb out.ipynb ${taken ? `-p ${parameter} ${lab.state.lam} ` : ""}-p seed ${lab.state.seed}`;
}

// Which of the chapter's parameters λ is, and whether the chapter takes this λ.
function rule(lab) {
  const parameter = lab.getAttribute("parameter") || "lam", least = Number(lab.getAttribute("least") || 0);
  return { parameter, least, taken: lab.state.lam >= least };
}

function remark(lab) {
  const { parameter, least, taken } = rule(lab);
  if (!taken) return `For this page λ must be at least ${number(least)}: the command leaves it out.`;
  return parameter === "lam" ? "" : `Here λ is called ${parameter}.`;
}

// Field, button and a remark; lab.placeAgain() keeps the field in step.
export function buildAgain(lab) {
  const field = h("input", { type: "text", readOnly: true, class: "command", "aria-label": "command that runs this page's notebook again" });
  const button = copyButton("Copy", () => field.value, (text) => lab.say(text));
  const hint = h("p", { class: "hint" });
  lab.placeAgain = () => {
    field.value = command(lab);
    hint.textContent = remark(lab);
    hint.hidden = hint.textContent === "";
  };
  return h("div", {}, h("div", { class: "row" }, field, button), hint);
}
