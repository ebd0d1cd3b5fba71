// λ as a control inside a sentence: one slider, one picture, a caption that states what is shown.
import { difference } from "./address.js";
import { AGAIN, buildAgain } from "./again.js";
import { UNTRAINED, control, told } from "./controls.js";
import { h } from "./elements.js";
import { number, percent } from "./draw.js";
import * as pictures from "./pictures.js";
import { numbers } from "./run.js";
import { CONTROLS } from "./state.js";

// A setting or a result, as a sentence says it.
function said(name, value) {
  if (name in CONTROLS) return told(CONTROLS[name], value);
  return name === "accuracy" ? percent(value) : number(value);
}

export function buildCompact(lab) {
  const sentence = h("p", { class: "sentence" });
  // Until training has begun, the numbers that the page was written with, if it is in that state.
  const written = difference(lab.state, lab.base) ? [] : lab.querySelectorAll("[data-name]");
  const before = new Map([...written].map((element) => [element.dataset.name, element.textContent]));
  lab.slots = [];
  lab.controls = new Map();
  for (const part of lab.getAttribute("text").split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (!name) sentence.append(part);
    else if (name in CONTROLS && CONTROLS[name].kind !== "choice" && !lab.controls.has(name)) {
      const one = control(name, CONTROLS[name], (value, dragging) => lab.change({ [name]: value }, { dragging }));
      sentence.append(h("span", { class: "inline" }, one.output, one.input));
      lab.controls.set(name, one);
    } else {
      const slot = h("output", { class: "value" }, before.get(name) ?? "…");
      sentence.append(slot);
      lab.slots.push([name, slot]);
    }
  }
  lab.picture = lab.getAttribute("figure") || "scatter";
  lab.canvas = h("canvas", UNTRAINED);
  const ofKinds = ["scatter", "means", "weights"].includes(lab.picture);
  const legend = h("p", { class: "legend", hidden: !ofKinds }, ...["positive", "negative", "neutral"].map((kind) => h("span", { class: kind }, kind)));
  const reset = h("button", { type: "button", class: "quiet", onclick: () => lab.change(lab.base) }, "reset");
  lab.root.append(h("section", { class: "lab compact", "aria-label": "live figure" },
    sentence, lab.statusLine, lab.canvas, h("div", { class: "below" }, legend, reset),
    h("details", { class: "again" }, h("summary", {}, AGAIN), buildAgain(lab)),
  ));
}

export function placeCompact(lab) {
  for (const [name, one] of lab.controls) one.place(lab.state[name]);
  lab.placeAgain();
}

export function drawCompact(lab) {
  const view = lab.viewOf(lab.picture), told = numbers(view.run, view.index);  // one state, in words and picture
  for (const [name, slot] of lab.slots) slot.textContent = said(name, told[name]);
  const chosen = lab.picture === "terms" ? lab.token : lab.state.token;
  (pictures[lab.picture] ?? pictures.scatter)(lab.canvas, { ...view, token: chosen });
  lab.canvas.setAttribute("aria-label", lab.root.querySelector(".sentence").textContent);
}
