// The exact trainer of the plain model (DP): each type is scored once, two numbers a token are gathered and
// scattered back, O(tokens + types·d) a step (Eq 1 to 7, 16, 20); a type that no instance of a batch holds has π and ρ
// of zero and stays where it is. parity.py holds the same in PyTorch.
import { closedForm } from "./band.js";
import { inPieces } from "./pieces.js";
import { PURPOSES, normal, permutation, streamKey, uniform } from "./random.js";

// E and W uniform in ±0.1, V of variance 1; W is turned within the plane of V and W if an angle is asked for.
// Rows are padded with zeros, which stay zero, to a multiple of four numbers.
function initialValues(types, { d, seed, angle }) {
  const keys = [PURPOSES.embedding, PURPOSES.V, PURPOSES.W].map((purpose) => streamKey(seed, purpose));
  const stride = 4 * Math.ceil(d / 4), E = new Float64Array(types * stride);
  for (let w = 0; w < types; w++) {
    for (let i = 0; i < d; i++) E[w * stride + i] = (2 * uniform(keys[0], w * d + i) - 1) * 0.1;
  }
  const V = new Float64Array(stride), W = new Float64Array(stride);
  for (let i = 0; i < d; i++) {
    V[i] = normal(keys[1], i);
    W[i] = (2 * uniform(keys[2], i) - 1) * 0.1;
  }
  if (angle !== null) {
    const along = dot(V, W) / dot(V, V), across = W.map((x, i) => x - along * V[i]);
    const size = Math.sqrt(dot(W, W)), radians = (angle * Math.PI) / 180;
    const onV = (size * Math.cos(radians)) / Math.sqrt(dot(V, V));
    const onSide = (size * Math.sin(radians)) / Math.sqrt(dot(across, across));
    for (let i = 0; i < d; i++) W[i] = onV * V[i] + onSide * across[i];
  }
  return { E, V, W, stride };
}

function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

// e^a of each type, once, less the largest score; false if one of them could underflow.
function exponentials(a, into) {
  let least = Infinity, largest = -Infinity;
  for (const x of a) {
    if (x < least) least = x;
    if (x > largest) largest = x;
  }
  if (!(largest - least < 600)) return false;
  for (let w = 0; w < a.length; w++) into[w] = Math.exp(a[w] - largest);
  return true;
}

// One pass over some instances: π and ρ, and if asked α, are added up by type; the loss is returned. `exps` holds
// e^a of every type, or room for those of one instance.
function passOver(corpus, order, begin, end, a, s, exps, ready, pi, rho, weight) {
  const { tokens, offsets, labels } = corpus;
  let loss = 0, right = 0;
  for (let k = begin; k < end; k++) {
    const t = order === null ? k : order[k], from = offsets[t], to = offsets[t + 1];
    if (!ready) {
      let largest = -Infinity;
      for (let i = from; i < to; i++) if (a[tokens[i]] > largest) largest = a[tokens[i]];
      for (let i = from; i < to; i++) exps[tokens[i]] = Math.exp(a[tokens[i]] - largest);
    }
    let total = 0, polarity = 0;
    for (let i = from; i < to; i++) {
      const w = tokens[i], e = exps[w];
      total += e;
      polarity += e * s[w];
    }
    polarity /= total;
    const y = labels[t] === 1 ? 1 : -1, margin = y * polarity, small = Math.exp(-Math.abs(margin));
    loss += Math.max(-margin, 0) + Math.log1p(small);
    if (polarity > 0 === y > 0) right++;
    const share = (y * (margin > 0 ? small : 1)) / ((1 + small) * total);  // yβ, for each part of e^a
    for (let i = from; i < to; i++) {
      const w = tokens[i], pull = share * exps[w];
      pi[w] += pull;
      rho[w] += pull * (s[w] - polarity);
    }
    if (weight) for (let i = from; i < to; i++) weight[tokens[i]] += exps[tokens[i]] / total;
  }
  return { loss, right };
}

// Rows are taken CHUNK at a time, so that they stay in the cache while four dimensions after four pass by, whose
// numbers of V and W then stay in registers.
const CHUNK = 64, PIECE = 1400;  // types; instances, a millisecond's worth

// a = E·x and s = E·y of every type.
function scoreTypes(E, x, y, stride, a, s) {
  a.fill(0);
  s.fill(0);
  for (let begin = 0; begin < a.length; begin += CHUNK) {
    const end = Math.min(begin + CHUNK, a.length);
    for (let i = 0; i < stride; i += 4) {
      const x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
      const y0 = y[i], y1 = y[i + 1], y2 = y[i + 2], y3 = y[i + 3];
      for (let w = begin; w < end; w++) {
        const at = w * stride + i, e0 = E[at], e1 = E[at + 1], e2 = E[at + 2], e3 = E[at + 3];
        a[w] += e0 * x0 + e1 * x1 + (e2 * x2 + e3 * x3);
        s[w] += e0 * y0 + e1 * y1 + (e2 * y2 + e3 * y3);
      }
    }
  }
}

// Adds Eᵀp and Eᵀq to x and y.
function gather(E, p, q, stride, x, y) {
  for (let w = 0; w < p.length; w++) {
    const row = w * stride, u = p[w], v = q[w];
    for (let i = 0; i < stride; i++) {
      x[i] += u * E[row + i];
      y[i] += v * E[row + i];
    }
  }
}

// Everything the pictures need of one moment: scores, sums, terms by type, and the numbers of V and W.
function* snapshot(run, epoch, loss) {
  const { problem: { types, train }, lam, stride, exps, E, V, W } = run;
  const [a, s, pi, rho, weight, C, F] = Array.from({ length: 7 }, () => new Float64Array(types)), m = train.labels.length;
  scoreTypes(E, V, W, stride, a, s);
  for (let w = 0; w < types; w++) a[w] /= lam;
  const ready = exponentials(a, exps);
  let right = 0;
  yield* inPieces(m, PIECE, (begin, end) => {
    right += passOver(train, null, begin, end, a, s, exps, ready, pi, rho, weight).right;
  });
  for (let w = 0; w < types; w++) weight[w] /= run.counts[w];
  const [onV, onW] = [0, 1].map(() => new Float64Array(stride));
  gather(E, rho, pi, stride, onV, onW);
  scoreTypes(E, onV, onW, stride, F, C);
  for (let w = 0; w < types; w++) {
    C[w] /= m;
    F[w] /= m * lam * lam;
  }
  const products = { VV: dot(V, V), WW: dot(W, W), VW: dot(V, W), drift: yield* drift(run) };
  return { epoch, loss, a, s, pi, rho, weight, C, F, accuracy: right / m, ...products };
}

// ‖K − K₀‖ / ‖K₀‖ of K = EᵀE − VVᵀ − WWᵀ, which gradient flow conserves.
function* drift(run) {
  const { stride, E, V, W } = run, K = new Float64Array(stride * stride);
  yield* inPieces(run.problem.types, 256, (begin, end) => {
    for (let w = begin; w < end; w++) {
      for (let i = 0; i < stride; i++) {
        const e = E[w * stride + i];
        for (let j = i; j < stride; j++) K[i * stride + j] += e * E[w * stride + j];
      }
    }
  });
  let change = 0, size = 0;
  for (let i = 0; i < stride; i++) {
    for (let j = i; j < stride; j++) {
      const at = i * stride + j, times = i === j ? 1 : 2;
      K[at] -= V[i] * V[j] + W[i] * W[j];
      const before = (run.K0 ??= K)[at];
      change += times * (K[at] - before) ** 2;
      size += times * before ** 2;
    }
  }
  return Math.sqrt(change / size);
}

// The upper end of the band, from what there is before training; null where its formula does not hold.
function upperEnd({ types, kinds, train: { tokens, offsets, labels } }, config, { E, V, W, stride }) {
  const m = labels.length, noise = (2 * Math.floor((config.noise * m) / 2 + 0.5)) / m;
  if (config.optimizer !== "sgd" || config.penalty || config.ratio !== 0.5 || noise >= 0.5) return null;
  const pi = new Float64Array(types), g = new Float64Array(stride), [a, s, rest] = [types, types, stride].map((size) => new Float64Array(size));
  for (let t = 0; t < m; t++) {
    for (let i = offsets[t]; i < offsets[t + 1]; i++) pi[tokens[i]] += (labels[t] - 0.5) / (offsets[t + 1] - offsets[t]);
  }
  const size = Math.sqrt(dot(pi, pi)), sums = [0, 0, 0], counts = [0, 0, 0];
  gather(E, pi.map((one) => one / size), s, stride, g, rest);
  scoreTypes(E, V, W, stride, a, s);
  a.forEach((one, w) => { sums[kinds[w]] += one; counts[kinds[w]]++; });
  const [neutral, positive, negative] = sums.map((sum, kind) => sum / counts[kind]), batches = config.batch === "full" ? 1 : Math.ceil(m / config.batch);
  const share = tokens.reduce((sum, w) => sum + (kinds[w] > 0), 0) / tokens.length, nu = size / m / (1 - 2 * noise);
  const upper = closedForm([positive, negative, neutral, dot(V, V), dot(V, W), dot(W, W)], [dot(g, V), dot(g, W), dot(g, g)],
    { types: [counts[1], counts[2], counts[0]], nu, share, noise }, batches * config.epochs * config.lr, 4000);
  return Number.isNaN(upper) ? null : upper;
}

// Yields a snapshot after each epoch, 0 included, and null every millisecond or so, where a caller may pause.
export function* train(problem, config) {
  const { types } = problem, { lam, optimizer, penalty, epochs, seed } = config, m = problem.train.labels.length;
  const size = config.batch === "full" ? m : Math.min(config.batch, m);
  const run = { problem, lam, exps: new Float64Array(types), counts: new Int32Array(types), ...initialValues(types, config) };
  for (const w of problem.train.tokens) run.counts[w]++;
  yield { ...(yield* snapshot(run, 0, null)), upper: upperEnd(problem, config, run) };
  const { E, V, W, stride, exps } = run, adagrad = optimizer === "adagrad";
  const squares = adagrad ? new Float64Array(types * stride) : null;
  const [squaresV, squaresW, gV, gW] = Array.from({ length: 4 }, () => new Float64Array(stride));
  const [a, s, pi, rho] = Array.from({ length: 4 }, () => new Float64Array(types));
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = size === m ? null : permutation(streamKey(seed, PURPOSES.order, epoch), m);
    let loss = 0;
    for (let begin = 0; begin < m; begin += size) {
      const end = Math.min(begin + size, m), n = end - begin, rate = config.lr;
      for (const sums of [pi, rho, gV, gW]) sums.fill(0);
      scoreTypes(E, V, W, stride, a, s);
      for (let w = 0; w < types; w++) a[w] /= lam;
      const ready = exponentials(a, exps);
      yield* inPieces(n, PIECE, (from, to) => {
        loss += passOver(problem.train, order, begin + from, begin + to, a, s, exps, ready, pi, rho).loss;
      });
      stepRows(E, V, W, stride, pi, rho, lam, n, rate, gV, gW, squares);
      const sign = penalty ? penalty * Math.sign(dot(V, W)) : 0;
      for (let i = 0; i < stride; i++) {
        const v = sign * W[i] - gV[i] / (n * lam), w = sign * V[i] - gW[i] / n;
        V[i] -= adagrad ? (rate * v) / (Math.sqrt((squaresV[i] += v * v)) + 1e-10) : rate * v;
        W[i] -= adagrad ? (rate * w) / (Math.sqrt((squaresW[i] += w * w)) + 1e-10) : rate * w;
      }
    }
    yield yield* snapshot(run, epoch, (loss /= m));
    if (!Number.isFinite(loss) || !Number.isFinite(dot(V, V))) return;
  }
}

// Moves all rows, ∂ℓ/∂e = −(ρ V/λ + π W)/n, by Adagrad where there are sums of squares, and adds Eᵀρ and Eᵀπ of the old
// rows to gV and gW.
function stepRows(E, V, W, stride, pi, rho, lam, n, rate, gV, gW, squares) {
  for (let begin = 0; begin < pi.length; begin += CHUNK) {
    const end = Math.min(begin + CHUNK, pi.length);
    for (let i = 0; i < stride; i += 2) {
      const v0 = V[i] / (n * lam), v1 = V[i + 1] / (n * lam), w0 = W[i] / n, w1 = W[i + 1] / n;
      let p0 = gW[i], p1 = gW[i + 1], r0 = gV[i], r1 = gV[i + 1];
      for (let w = begin; w < end; w++) {
        const at = w * stride + i, p = pi[w], r = rho[w], e0 = E[at], e1 = E[at + 1];
        const g0 = r * v0 + p * w0, g1 = r * v1 + p * w1;
        p0 += p * e0;
        p1 += p * e1;
        r0 += r * e0;
        r1 += r * e1;
        E[at] = e0 + (squares ? (rate * g0) / (Math.sqrt((squares[at] += g0 * g0)) + 1e-10) : rate * g0);
        E[at + 1] = e1 + (squares ? (rate * g1) / (Math.sqrt((squares[at + 1] += g1 * g1)) + 1e-10) : rate * g1);
      }
      gW[i] = p0;
      gW[i + 1] = p1;
      gV[i] = r0;
      gV[i + 1] = r1;
    }
  }
}
