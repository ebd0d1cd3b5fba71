// Token types as words, and words as token types.
import { KINDS } from "./run.js";

const SHORT = { n: 0, neu: 0, neutral: 0, "·": 0, p: 1, pos: 1, positive: 1, "+": 1, neg: 2, negative: 2, "-": 2, "−": 2 };
const BEGIN = [0, 1000, 1050], END = [1000, 1050, 1100];

export function wordOf(id) {
  const kind = END.findIndex((end) => id < end);
  return `${KINDS[kind]}-${id - BEGIN[kind]}`;
}

// The id of a word, or null. Words may be shortened: positive-3, pos3, +3.
export function idOf(text) {
  const parts = /^(\D+?)[-_]?(\d{1,4})$/.exec(text.toLowerCase()), kind = parts ? SHORT[parts[1]] : undefined;
  const id = kind === undefined ? Infinity : BEGIN[kind] + Number(parts[2]);
  return id < END[kind] ? id : null;
}
