// The mean field of a corpus of exchangeable types, solved in the page; uaftc_book/chapters/which_lambda.py does the same in Python.
// Its unknowns are the inner products G of five vectors [the means of three kinds; V; W]: fifteen numbers.
import { closedForm } from "./band.js";

const KINDS = 3, ROWS = 5, V = 3, W = 4;

// The symmetric matrix, by rows, of its upper triangle.
export function whole(upper) {
  const G = new Float64Array(ROWS * ROWS);
  let k = 0;
  for (let i = 0; i < ROWS; i++) for (let j = i; j < ROWS; j++) G[i * ROWS + j] = G[j * ROWS + i] = upper[k++];
  return G;
}

// From V ⟂ W: the inner products after W has been turned, its length kept, until cos(V, W) is the cosine.
export function turned(upper, cosine) {
  const G = whole(upper), along = cosine * Math.sqrt(G[W * ROWS + W] / G[V * ROWS + V]), across = Math.sqrt(1 - cosine * cosine);
  for (let i = 0; i < ROWS; i++) G[W * ROWS + i] = along * G[V * ROWS + i] + across * G[W * ROWS + i];
  for (let i = 0; i < ROWS; i++) G[i * ROWS + W] = along * G[i * ROWS + V] + across * G[i * ROWS + W];
  return G;
}

// The upper end of λ after W has been turned to a cosine, from V ⟂ W.
export function upperEnd({ types }, { gram, g: [gV, gW0, gg], nu, share }, cosine, time) {
  const G = turned(gram, cosine), ofV = G.slice(V * ROWS, W * ROWS), WW = G[W * ROWS + W];
  const gW = cosine * Math.sqrt(WW / ofV[V]) * gV + Math.sqrt(1 - cosine * cosine) * gW0;
  return closedForm([...ofV, WW], [gV, gW, gg], { types, nu, share }, time);
}

// Ġ = SG + (SG)ᵀ, S being made of π and ρ of one type of each kind; V and W feel all types of a kind.
function derivative({ types, patterns, signs, shares }, lam, G, out) {
  const scores = attention(G, lam), most = Math.max(...scores), weight = scores.map((a) => Math.exp(a - most)), pi = [0, 0, 0], rho = [0, 0, 0];
  for (let t = 0; t < patterns.length; t++) {
    const counts = patterns[t];
    let sum = 0, polarity = 0;
    for (let k = 0; k < KINDS; k++) sum += counts[k] * weight[k];
    for (let k = 0; k < KINDS; k++) polarity += counts[k] * (weight[k] / sum) * G[k * ROWS + W];
    const pull = (shares[t] * signs[t]) / (1 + Math.exp(signs[t] * polarity));
    for (let k = 0; k < KINDS; k++) {
      const part = (pull * (counts[k] * (weight[k] / sum))) / types[k];
      pi[k] += part;
      rho[k] += part * (G[k * ROWS + W] - polarity);
    }
  }
  out.fill(0);
  for (let j = 0; j < ROWS; j++) {
    for (let k = 0; k < KINDS; k++) {
      const r = rho[k] / lam, own = r * G[V * ROWS + j] + pi[k] * G[W * ROWS + j];
      const ofV = types[k] * r * G[k * ROWS + j], ofW = types[k] * pi[k] * G[k * ROWS + j];
      for (const [i, value] of [[k, own], [V, ofV], [W, ofW]]) {
        out[i * ROWS + j] += value;
        out[j * ROWS + i] += value;
      }
    }
  }
}

// Runge and Kutta's classical method in equal steps, at least `rate` in a unit of τ, [τ, G] kept after each of `kept` equal parts.
export function flow(field, start, lam, time, { rate, kept: parts }) {
  const every = Math.ceil((rate * time) / parts), steps = every * parts, size = time / steps, kept = [[0, start]];
  const G = start.slice(), at = new Float64Array(G.length);
  const [a, b, c, d] = [0, 1, 2, 3].map(() => new Float64Array(G.length));
  const ahead = (slope, part) => { for (let i = 0; i < G.length; i++) at[i] = G[i] + part * slope[i]; };
  for (let step = 1; step <= steps; step++) {
    derivative(field, lam, G, a);
    ahead(a, size / 2);
    derivative(field, lam, at, b);
    ahead(b, size / 2);
    derivative(field, lam, at, c);
    ahead(c, size);
    derivative(field, lam, at, d);
    for (let i = 0; i < G.length; i++) G[i] += (size / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
    if (step % every === 0) kept.push([step * size, G.slice()]);
  }
  return kept;
}

// The attention scores of the kinds in inner products.
export function attention(G, lam) {
  return [0, 1, 2].map((k) => G[k * ROWS + V] / lam);
}
