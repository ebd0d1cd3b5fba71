// Random numbers as a pure function of (seed, purpose, index), on 32-bit integers alone: parity.py draws the
// same ones bit for bit, and no draw disturbs another.

export const PURPOSES = { embedding: 1, V: 2, W: 3, neutral: 4, polarity: 5, place: 6, instance: 7, order: 8, sign: 9 };

// A bijection of 32-bit integers (C. Wellons' "lowbias32").
function mix(x) {
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

export function streamKey(seed, purpose, part = 0) {
  return mix(mix(mix(seed + 0x9e3779b9) + purpose) + part);
}

export const draw = (key, index) => mix(mix(index + 0x9e3779b9) ^ key);

export const uniform = (key, index) => draw(key, index) / 4294967296;

// A whole number in [0, bound).
export const below = (key, index, bound) => Math.floor((draw(key, index) * bound) / 4294967296);

// Twelve uniform numbers less six: mean 0, variance 1, near enough to normal, and without a logarithm whose
// last bit would depend on the browser.
export function normal(key, index) {
  let sum = 0;
  for (let i = 0; i < 12; i++) sum += draw(key, 12 * index + i);
  return sum / 4294967296 - 6;
}

export const sign = (key, index) => draw(key, index) >>> 31 ? 1 : -1;

// Fisher and Yates.
export function permutation(key, count) {
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  for (let i = count - 1; i > 0; i--) {
    const j = below(key, i, i + 1);
    const kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  return order;
}
