// λ as a control inside a sentence: one slider, one picture, a caption that states what is shown.
import { BaseLab } from "./base.js";
import { control, h } from "./controls.js";
import { number, percent } from "./draw.js";
import * as pictures from "./pictures.js";
import { CONTROLS } from "./state.js";

const SHARES = ["accuracy", "ratio", "noise"];

// A number as a sentence says it.
export function saidAs(name, value) {
  if (value === undefined) return "…";
  if (value === null) return name === "angle" ? "as drawn" : "none";
  return SHARES.includes(name) ? percent(value) : typeof value === "number" ? number(value) : String(value);
}

export function buildCompact(lab) {
  const text = lab.getAttribute("text") || "At λ = {lam}, mean attention score {a_positive} for positive, {a_negative} for negative and {a_neutral} for neutral tokens.";
  const sentence = h("p", { class: "sentence" });
  lab.slots = [];
  lab.controls = [];
  let first = true;
  for (const part of text.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (!name) sentence.append(part);
    else if (name in CONTROLS && CONTROLS[name].kind !== "choice" && !lab.controls.some((one) => one.name === name) && (name === "lam" || first)) {
      const one = control(name, CONTROLS[name], (value, dragging) => lab.change({ [name]: value }, { dragging }));
      sentence.append(h("span", { class: "inline" }, one.output, one.input));
      lab.controls.push({ ...one, name });
      first = false;
    } else {
      const slot = h("output", { class: "value", "data-name": name });
      sentence.append(slot);
      lab.slots.push([name, slot]);
    }
  }
  lab.picture = lab.getAttribute("figure") || "scatter";
  lab.canvas = h("canvas", { role: "img" });
  lab.legend = h("p", { class: "legend" }, ...["positive", "negative", "neutral"].map((kind) => h("span", { class: kind }, kind)));
  const reset = h("button", { type: "button", class: "quiet", onclick: () => lab.change(lab.base) }, "reset");
  lab.root.append(h("section", { class: "lab compact", "aria-label": "live figure" }, sentence, lab.canvas, h("div", { class: "below" }, lab.legend, reset)));
}

export function drawCompact(lab) {
  const told = lab.numbers;
  for (const [name, slot] of lab.slots) slot.textContent = saidAs(name, told[name]);
  const chosen = lab.picture === "terms" ? lab.token : lab.state.token;
  (pictures[lab.picture] ?? pictures.scatter)(lab.canvas, { ...lab.view, token: chosen });
  lab.canvas.setAttribute("aria-label", lab.root.querySelector(".sentence").textContent);
}
