// The settings of a lab, within their ranges, and as part of an address.
import { number } from "./draw.js";

export const CONTROLS = SETTINGS.controls;
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// What of a run is shown; null: the last epoch, the first positive word.
const views = ({ epochs }) => ({
  epoch: { label: "epoch", kind: "view", default: null, min: 0, max: epochs },
  token: { label: "token", kind: "view", default: null, min: 0, max: 1099 },
});

// The value if it is one that the setting can take, else undefined.
function fitting({ kind, choices, min, max }, value) {
  if (kind === "choice") {
    const key = Object.keys(choices).find((choice) => choice === String(value));
    return key === undefined || Number.isNaN(Number(key)) ? key : Number(key);
  }
  if (["angle", "view"].includes(kind) && (value === null || value === "none")) return null;
  const x = typeof value === "string" && !NUMBER.test(value.trim()) ? NaN : Number(value);
  if (kind === "log or none" && x === 0) return 0;
  const whole = ["whole", "view"].includes(kind);
  return x >= min && x <= max && (!whole || Number.isInteger(x)) ? x : undefined;
}

// What a reader types, as a number is written: 1,000 is a thousand; 0,5 is a half.
export function typed(text) {
  if (/^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(text.trim())) return text.replaceAll(",", "");
  return /^\d*,\d*$/.test(text.trim()) ? text.replace(",", ".") : text;
}

// In words, what of `wanted` cannot be set over `base`.
export function misfits(wanted, base) {
  const all = { ...CONTROLS, ...views(settle(wanted, base)) };
  return Object.entries(wanted).map(([name, value]) => {
    const quoted = (text) => `“${String(text).slice(0, 40)}”`, about = Object.hasOwn(all, name) ? all[name] : null;
    if (!about) return `This figure has no setting ${quoted(name)}; it is left out.`;
    if (fitting(about, value) !== undefined) return "";
    const { label, kind, min, max, choices } = about;
    const range = kind === "choice" ? `is one of ${Object.keys(choices).join(", ")}` : `lies between ${number(min)} and ${number(max)}`;
    return `The ${label} ${["whole", "view"].includes(kind) ? "is a whole number and " : ""}${range}; ${quoted(value)} is left out.`;
  }).filter(Boolean).join(" ");
}

// Everything of `wanted` that makes sense, over `base`.
export function settle(wanted, base = {}) {
  const state = { ...base };
  const take = (all) => Object.entries(all).forEach(([name, about]) => {
    const value = name in wanted ? fitting(about, wanted[name]) : undefined;
    if (value !== undefined) state[name] = value;
    else if (!(name in state)) state[name] = about.default;
  });
  take(CONTROLS);
  take(views(state));
  if (state.epoch >= state.epochs) state.epoch = null;
  return state;
}

// What of a state a run depends on.
export function configOf(state) {
  return Object.fromEntries(Object.keys(CONTROLS).map((name) => [name, state[name]]));
}
