// The papermill command with the reader's λ and seed.
import { difference } from "./address.js";
import { copyButton } from "./controls.js";
import { h } from "./elements.js";
import { number } from "./draw.js";

export const AGAIN = "Re-run this page with this λ and seed";

// The command, and what is to be said of λ: a chapter may call it otherwise, or not take one as small.
function rerun(lab) {
  const page = /([^/]+?)(\.html?|\.ipynb)?$/.exec(location.pathname)?.[1] ?? "", { lam, seed } = lab.state;
  const notebook = lab.getAttribute("notebook") || (/^(\d\d|A)_/.test(page) ? page : "00_intro");
  const parameter = lab.getAttribute("parameter") || "lam", least = Number(lab.getAttribute("least") || 0), taken = lam >= least;
  const command = `papermill book/${notebook}.ipynb out.ipynb ${taken ? `-p ${parameter} ${lam} ` : ""}-p seed ${seed}`;
  if (!taken) return [command, `For this page λ must be at least ${number(least)}: the command leaves it out.`];
  return [command, parameter === "lam" ? "" : `Here λ is called ${parameter}.`];
}

// Field, button and a remark; lab.placeAgain() keeps the field in step.
export function buildAgain(lab) {
  const field = h("input", { type: "text", readOnly: true, class: "command", "aria-label": "command that runs this page's notebook again" });
  const button = copyButton("Copy", () => field.value, (text) => lab.say(text));
  const hint = h("p", { class: "hint" });
  lab.placeAgain = () => {
    const [command, remark] = rerun(lab), { lam, seed, epoch, token } = lab.state;
    const others = difference(lab.state, { ...lab.base, lam, seed, epoch, token }) && "The command has no other setting, such as a penalty.";
    field.value = command;
    hint.textContent = [remark, others].filter(Boolean).join(" ");
    hint.hidden = hint.textContent === "";
  };
  return h("div", {}, h("div", { class: "row" }, field, button), hint);
}
