// What a lab is told to do, as settings that fit their ranges, and as part of an address.
import { number } from "./draw.js";

export const CONTROLS = SETTINGS.controls;
const VIEW = ["epoch", "token"];  // null: the last epoch, the first positive token

// The value if it is one that the control can take, else undefined.
function fitting(name, value) {
  const about = CONTROLS[name];
  if (about.kind === "choice") {
    const key = Object.keys(about.choices).find((choice) => choice === String(value));
    return key === undefined || Number.isNaN(Number(key)) ? key : Number(key);
  }
  if (about.kind === "angle" && (value === null || value === "none")) return null;
  const x = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
  if (about.kind === "log or none" && x === 0) return 0;
  if (!(x >= about.min && x <= about.max)) return undefined;
  return about.kind === "whole" ? Math.round(x) : x;
}

// What a reader types, as a number is written: 1,000 is a thousand; 0,5 is a half.
export function typed(text) {
  if (/^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(text.trim())) return text.replaceAll(",", "");
  return /^\d*,\d*$/.test(text.trim()) ? text.replace(",", ".") : text;
}

// In words, what of `wanted` no control can take.
export function misfits(wanted) {
  return Object.keys(CONTROLS).filter((name) => name in wanted && fitting(name, wanted[name]) === undefined).map((name) => {
    const { label, kind, min, max, choices } = CONTROLS[name];
    const range = kind === "choice" ? `is one of ${Object.keys(choices).join(", ")}` : `lies between ${number(min)} and ${number(max)}`;
    return `The ${label} ${range}; “${String(wanted[name]).slice(0, 40)}” is left out.`;
  }).join(" ");
}

// Everything of `wanted` that makes sense, over `base`.
export function settle(wanted, base = {}) {
  const state = { ...base };
  for (const [name, about] of Object.entries(CONTROLS)) {
    const value = name in wanted ? fitting(name, wanted[name]) : undefined;
    if (value !== undefined) state[name] = value;
    else if (!(name in state)) state[name] = about.default;
  }
  for (const name of VIEW) {
    if (/^\d{1,7}$/.test(String(wanted[name]))) state[name] = Number(wanted[name]);
    else if (wanted[name] === null || !(name in state)) state[name] = null;
  }
  return state;
}

// What of a state a run depends on.
export function configOf(state) {
  return Object.fromEntries(Object.keys(CONTROLS).map((name) => [name, state[name]]));
}
