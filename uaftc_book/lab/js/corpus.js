// Synthetic Data I and II (Appendix C).
import { inPieces } from "./pieces.js";
import { PURPOSES, below, permutation, streamKey } from "./random.js";

const POSITIVE = 1, NEGATIVE = 2;
const SIZES = { neutralTypes: 1000, polarityTypes: 50, neutralTokens: 10, polarityTokens: 2 };

// `count` distinct numbers below `bound`, all sets equally likely (Floyd).
function distinct(key, first, count, bound, into, at) {
  for (let j = 0; j < count; j++) {
    const last = bound - count + j;
    let drawn = below(key, first + j, last + 1);
    for (let i = 0; i < j; i++) if (into[at + i] === drawn) { drawn = last; break; }
    into[at + j] = drawn;
  }
}

export function* synthetic({ seed, noise, ratio, instances }) {
  const { neutralTypes, polarityTypes, neutralTokens, polarityTokens } = SIZES;
  const length = neutralTokens + polarityTokens;
  const keys = Object.fromEntries(
    ["neutral", "polarity", "place", "instance"].map((name) => [name, streamKey(seed, PURPOSES[name])]),
  );
  const positives = Math.floor(instances * ratio + 0.5), negatives = instances - positives;
  const exchanged = [Math.floor(noise * negatives + 0.5), Math.floor(noise * positives + 0.5)];
  const order = permutation(keys.instance, instances);
  const tokens = new Int32Array(instances * length), labels = new Int8Array(instances);
  const offsets = new Int32Array(instances + 1), places = new Int32Array(length);
  yield* inPieces(instances, 500, (begin, end) => {
    for (let row = begin; row < end; row++) {
      const t = order[row], positive = t >= negatives, at = row * length;
      const looksPositive = (positive ? t - negatives : t) < exchanged[+positive] ? !positive : positive;
      distinct(keys.neutral, t * neutralTokens, neutralTokens, neutralTypes, places, 0);
      distinct(keys.polarity, t * polarityTokens, polarityTokens, polarityTypes, places, neutralTokens);
      for (let j = neutralTokens; j < length; j++) places[j] += neutralTypes + (looksPositive ? 0 : polarityTypes);
      for (let i = length - 1; i > 0; i--) {
        const j = below(keys.place, t * length + i, i + 1), kept = places[i];
        places[i] = places[j];
        places[j] = kept;
      }
      tokens.set(places, at);
      labels[row] = positive ? 1 : 0;
      offsets[row + 1] = at + length;
    }
  });
  const types = neutralTypes + 2 * polarityTypes, kinds = new Int8Array(types);
  kinds.fill(POSITIVE, neutralTypes, neutralTypes + polarityTypes);
  kinds.fill(NEGATIVE, neutralTypes + polarityTypes);
  return { types, kinds, train: { tokens, offsets, labels } };
}
