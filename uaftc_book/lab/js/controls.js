// Form controls for the settings.
import { number, percent } from "./draw.js";
import { h } from "./elements.js";

export const UNTRAINED = { role: "img", "aria-label": "Not yet trained." };  // of a canvas

// Between a setting's values and the whole numbers of a slider.
function scaleOf(about) {
  const { kind, min, max } = about, [none, perDecade, digits] = kind === "log" ? [0, 100, 3] : [1, 10, 2];
  if (kind.startsWith("log")) {
    const place = (value) => (value === 0 ? 0 : none + Math.round(Math.log10(value / min) * perDecade));
    return { min: 0, max: place(max), place, value: (p) => (p < none ? 0 : Number((min * 10 ** ((p - none) / perDecade)).toPrecision(digits))) };
  }
  if (kind === "angle") {
    return { min: -1, max: 36, value: (p) => (p < 0 ? null : 5 * p), place: (value) => (value === null ? -1 : Math.round(value / 5)) };
  }
  if (kind === "share") {
    return { min: Math.round(min * 100), max: Math.round(max * 100), value: (p) => p / 100, place: (value) => Math.round(value * 100) };
  }
  return { min, max, value: (p) => p, place: (value) => value };
}

// A setting's value, as a sentence says it; widget.py says it in the same way.
export function told(about, value) {
  if (about.kind === "angle") return value === null ? "as drawn" : `${number(value)}°`;
  if (about.kind === "log or none") return value === 0 ? "none" : number(value);
  if (about.kind === "share") return percent(value).replace(".0", "");
  if (about.kind === "choice") return about.choices[value];
  return number(value);
}

// A labelled control; change(value, dragging) hears of every move. `place(value)` shows a value.
export function control(name, about, change) {
  if (about.kind === "choice") {
    const options = Object.entries(about.choices).map(([value, text]) => h("option", { value }, text));
    const select = h("select", { name, "aria-label": about.label }, ...options);
    select.addEventListener("change", () => change(select.value, false));
    return { element: h("label", { class: "control" }, h("span", {}, about.label), select), input: select, place: (value) => { select.value = String(value); } };
  }
  const scale = scaleOf(about), input = h("input", { type: "range", name, "aria-label": about.label, min: String(scale.min), max: String(scale.max), step: "1" });
  const output = h("span", { class: "said" });  // an output would take the label from the slider
  let moved;  // undefined unless the slider itself has just been moved: null is a value of its own
  input.addEventListener("input", () => { moved = scale.value(input.valueAsNumber); change(moved, true); });
  input.addEventListener("change", () => change(scale.value(input.valueAsNumber), false));
  return {
    element: h("label", { class: "control" }, h("span", {}, about.label, " ", output), input),
    input, output,
    place(value) {
      if (moved !== value) input.value = String(scale.place(value));
      moved = undefined;
      output.textContent = told(about, value);
      input.setAttribute("aria-valuetext", output.textContent);
    },
  };
}

// Whether the text could be copied; without leave for the clipboard, through a field of the button's tree.
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("input", { class: "unseen" });
    field.value = text;
    button.after(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    return done;
  }
}

// A button that copies what text() gives, and for a moment says so itself.
export function copyButton(label, text, say) {
  const button = h("button", { type: "button" }, label);
  let back = null;
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text(), button)) ? "Copied" : "Not copied";
    say(`${button.textContent}.`);
    clearTimeout(back);
    back = setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}
