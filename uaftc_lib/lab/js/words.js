// Token types as words, and words as token types.
import { KINDS } from "./run.js";

const SHORT = { n: 0, neu: 0, neutral: 0, "·": 0, p: 1, pos: 1, positive: 1, "+": 1, neg: 2, negative: 2, "-": 2, "−": 2 };
const BEGIN = [0, 1000, 1050], END = [1000, 1050, 1100];

export class Words {
  // Without a list: the synthetic vocabulary, by kind and number.
  constructor(list = null) {
    this.list = list;
    this.ids = list && new Map(list.map((word, id) => [word, id]));
  }

  word(id) {
    if (this.list) return this.list[id] ?? "?";
    const kind = id >= BEGIN[2] ? 2 : id >= BEGIN[1] ? 1 : 0;
    return `${KINDS[kind]}-${id - BEGIN[kind]}`;
  }

  // The id of a word, or null. Synthetic words may be shortened: positive-3, pos3, +3.
  id(text) {
    const word = text.toLowerCase();
    if (this.list) return this.ids.get(word) ?? this.ids.get(word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "")) ?? null;
    const parts = /^(\D+?)[-_]?(\d{1,4})$/.exec(word);
    const kind = parts ? SHORT[parts[1]] : undefined;
    const id = kind === undefined ? -1 : BEGIN[kind] + Number(parts[2]);
    return kind !== undefined && id < END[kind] ? id : null;
  }
}
