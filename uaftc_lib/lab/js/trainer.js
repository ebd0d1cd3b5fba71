// The exact trainer of the plain model (DP): each type is scored once, two numbers a token are gathered and
// scattered back, O(tokens + types·d) a step (Eq 1 to 7, 16, 20). parity.py holds the same in PyTorch.
import { inPieces } from "./pieces.js";
import { PURPOSES, normal, permutation, streamKey, uniform } from "./random.js";

// E and W uniform in ±0.1, V of variance 1; W is turned within the plane of V and W if an angle is asked for.
// Rows are padded with zeros, which stay zero, to a multiple of four numbers.
function* initialValues(types, { d, seed, angle }) {
  const keys = [PURPOSES.embedding, PURPOSES.V, PURPOSES.W].map((purpose) => streamKey(seed, purpose));
  const stride = 4 * Math.ceil(d / 4), E = new Float64Array(types * stride);
  yield* inPieces(types, rowsOf(stride), (begin, end) => {
    for (let w = begin; w < end; w++) {
      for (let i = 0; i < d; i++) E[w * stride + i] = (2 * uniform(keys[0], w * d + i) - 1) * 0.1;
    }
  });
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

// How many rows of the table, or instances, make a piece: a millisecond of work, or two.
function rowsOf(stride) {
  return CHUNK * Math.ceil(2 ** 11 / stride);
}

function instancesOf({ tokens, labels }) {
  return Math.ceil((2 ** 14 * labels.length) / tokens.length);
}

function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

// e^a of each type, once, less the largest score; false if one of them could underflow.
function exponentials(list, count, a, into) {
  let least = Infinity, largest = -Infinity;
  for (let k = 0; k < count; k++) {
    const x = a[list[k]];
    if (x < least) least = x;
    if (x > largest) largest = x;
  }
  if (!(largest - least < 600)) return false;
  for (let k = 0; k < count; k++) into[list[k]] = Math.exp(a[list[k]] - largest);
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
const CHUNK = 64;

// a = E·x and s = E·y for some types.
function scoreTypes(E, x, y, stride, list, from, to, a, s) {
  for (let begin = from; begin < to; begin += CHUNK) {
    const end = Math.min(begin + CHUNK, to);
    for (let k = begin; k < end; k++) a[list[k]] = s[list[k]] = 0;
    for (let i = 0; i < stride; i += 4) {
      const x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
      const y0 = y[i], y1 = y[i + 1], y2 = y[i + 2], y3 = y[i + 3];
      for (let k = begin; k < end; k++) {
        const w = list[k], at = w * stride + i, e0 = E[at], e1 = E[at + 1], e2 = E[at + 2], e3 = E[at + 3];
        a[w] += e0 * x0 + e1 * x1 + (e2 * x2 + e3 * x3);
        s[w] += e0 * y0 + e1 * y1 + (e2 * y2 + e3 * y3);
      }
    }
  }
}

// Adds Eᵀp and Eᵀq of some types to x and y.
function gather(E, p, q, stride, from, to, x, y) {
  for (let w = from; w < to; w++) {
    const row = w * stride, u = p[w], v = q[w];
    for (let i = 0; i < stride; i++) {
      x[i] += u * E[row + i];
      y[i] += v * E[row + i];
    }
  }
}

// Everything the pictures need of one moment: scores, sums, terms by type, and the numbers of V and W.
function* snapshot(run, epoch, loss) {
  const { problem, config, types, stride, all, exps, E, V, W } = run, { lam } = config, { train, dev } = problem;
  const [a, s, pi, rho, weight, C, F] = Array.from({ length: 7 }, () => new Float64Array(types));
  const rows = rowsOf(stride), m = train.labels.length;
  yield* inPieces(types, rows, (begin, end) => scoreTypes(E, V, W, stride, all, begin, end, a, s));
  for (let w = 0; w < types; w++) a[w] /= lam;
  const ready = exponentials(all, types, a, exps);
  yield null;
  let right = 0, devAccuracy = null;
  yield* inPieces(m, instancesOf(train), (begin, end) => {
    right += passOver(train, null, begin, end, a, s, exps, ready, pi, rho, weight).right;
  });
  for (let w = 0; w < types; w++) weight[w] /= run.counts[w];
  const onV = new Float64Array(stride), onW = new Float64Array(stride);
  yield* inPieces(types, rows, (begin, end) => gather(E, rho, pi, stride, begin, end, onV, onW));
  yield* inPieces(types, rows, (begin, end) => scoreTypes(E, onV, onW, stride, all, begin, end, F, C));
  for (let w = 0; w < types; w++) {
    C[w] /= m;
    F[w] /= m * lam * lam;
  }
  if (dev) {
    const none = new Float64Array(types);
    devAccuracy = passOver(dev, null, 0, dev.labels.length, a, s, exps, ready, none, none).right / dev.labels.length;
  }
  return {
    epoch, loss, a, s, pi, rho, weight, C, F, accuracy: right / m, devAccuracy,
    VV: dot(V, V), WW: dot(W, W), VW: dot(V, W), drift: yield* drift(run),
  };
}

// ‖K − K₀‖ / ‖K₀‖ of K = EᵀE − VVᵀ − WWᵀ, which gradient flow conserves.
function* drift(run) {
  const { types, stride, E, V, W } = run, K = new Float64Array(stride * stride);
  const whole = types - (types % 4);
  yield* inPieces(types, 4 * Math.ceil(2 ** 19 / stride ** 2), (begin, end) => {
    for (let w = begin; w < end; w += w < whole ? 4 : 1) {
      const p = w * stride, four = w < whole;
      const q = four ? p + stride : p, r = four ? q + stride : p, t = four ? r + stride : p;
      for (let i = 0; i < stride; i++) {
        const a = E[p + i], b = four ? E[q + i] : 0, c = four ? E[r + i] : 0, d = four ? E[t + i] : 0, into = i * stride;
        for (let j = i; j < stride; j++) K[into + j] += a * E[p + j] + b * E[q + j] + (c * E[r + j] + d * E[t + j]);
      }
    }
  });
  for (let i = 0; i < stride; i++) {
    for (let j = i; j < stride; j++) K[i * stride + j] -= V[i] * V[j] + W[i] * W[j];
  }
  run.K0 ??= K;
  let change = 0, size = 0;
  for (let i = 0; i < stride; i++) {
    for (let j = i; j < stride; j++) {
      const at = i * stride + j, times = i === j ? 1 : 2;
      change += times * (K[at] - run.K0[at]) ** 2;
      size += times * run.K0[at] ** 2;
    }
  }
  return Math.sqrt(change / size);
}

// Yields a snapshot after each epoch, 0 included, and null every millisecond or so, where a caller may pause.
export function* train(problem, config) {
  const { types } = problem, { lam, optimizer, penalty, decay, epochs, seed } = config;
  const { tokens, offsets, labels } = problem.train, m = labels.length, size = config.batch === "full" ? m : Math.min(config.batch, m);
  const run = { problem, config, types, ...(yield* initialValues(types, config)) };
  run.all = Int32Array.from({ length: types }, (_, w) => w);
  run.exps = new Float64Array(types);
  run.counts = new Int32Array(types);
  yield* inPieces(tokens.length, 2 ** 15, (begin, end) => { for (let i = begin; i < end; i++) run.counts[tokens[i]]++; });
  yield yield* snapshot(run, 0, null);
  const { E, V, W, stride, exps } = run, adagrad = optimizer === "adagrad";
  const squares = adagrad ? new Float64Array(types * stride) : null;
  const squaresV = new Float64Array(stride), squaresW = new Float64Array(stride);
  const [a, s, pi, rho] = Array.from({ length: 4 }, () => new Float64Array(types));
  // A batch of far more tokens than there are types meets nearly every type. The others may then come along: their
  // π and ρ are zero, and they stay where they are.
  const meetsAll = (size * tokens.length) / m > 2 * types;
  const touched = meetsAll ? run.all : new Int32Array(types), stamp = new Int32Array(types).fill(-1);
  const gV = new Float64Array(stride), gW = new Float64Array(stride);
  const rows = rowsOf(stride), instances = instancesOf(problem.train);
  let step = 0;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = size === m ? null : permutation(streamKey(seed, PURPOSES.order, epoch), m);
    let loss = 0;
    for (let begin = 0; begin < m; begin += size) {
      const end = Math.min(begin + size, m), rate = config.lr / (1 + step * decay), n = end - begin;
      let count = meetsAll ? types : 0;
      if (meetsAll) {
        pi.fill(0);
        rho.fill(0);
      }
      for (let k = begin; k < end && !meetsAll; k++) {
        const t = order === null ? k : order[k];
        for (let i = offsets[t]; i < offsets[t + 1]; i++) {
          const w = tokens[i];
          if (stamp[w] !== step) {
            stamp[w] = step;
            touched[count++] = w;
            pi[w] = rho[w] = 0;
          }
        }
      }
      yield* inPieces(count, rows, (from, to) => scoreTypes(E, V, W, stride, touched, from, to, a, s));
      for (let k = 0; k < count; k++) a[touched[k]] /= lam;
      const ready = exponentials(touched, count, a, exps);
      yield* inPieces(n, instances, (from, to) => {
        loss += passOver(problem.train, order, begin + from, begin + to, a, s, exps, ready, pi, rho).loss;
      });
      gV.fill(0);
      gW.fill(0);
      yield* inPieces(count, rows, (from, to) => {
        if (adagrad) stepAdagrad(E, V, W, stride, touched, from, to, pi, rho, lam, n, rate, gV, gW, squares);
        else stepSGD(E, V, W, stride, touched, from, to, pi, rho, lam, n, rate, gV, gW);
      });
      const sign = penalty ? penalty * Math.sign(dot(V, W)) : 0;
      for (let i = 0; i < stride; i++) {
        const v = sign * W[i] - gV[i] / (n * lam), w = sign * V[i] - gW[i] / n;
        V[i] -= adagrad ? (rate * v) / (Math.sqrt((squaresV[i] += v * v)) + 1e-10) : rate * v;
        W[i] -= adagrad ? (rate * w) / (Math.sqrt((squaresW[i] += w * w)) + 1e-10) : rate * w;
      }
      step++;
    }
    loss /= m;
    yield yield* snapshot(run, epoch, loss);
    if (!Number.isFinite(loss) || !Number.isFinite(dot(V, V))) return;
  }
}

// Both move some rows, ∂ℓ/∂e = −(ρ V/λ + π W)/n, and add Eᵀρ and Eᵀπ of the old rows to gV and gW.
function stepSGD(E, V, W, stride, touched, from, to, pi, rho, lam, n, rate, gV, gW) {
  const toV = rate / (n * lam), toW = rate / n;
  for (let begin = from; begin < to; begin += CHUNK) {
    const end = Math.min(begin + CHUNK, to);
    for (let i = 0; i < stride; i += 4) {
      const v0 = toV * V[i], v1 = toV * V[i + 1], v2 = toV * V[i + 2], v3 = toV * V[i + 3];
      const w0 = toW * W[i], w1 = toW * W[i + 1], w2 = toW * W[i + 2], w3 = toW * W[i + 3];
      let p0 = gW[i], p1 = gW[i + 1], p2 = gW[i + 2], p3 = gW[i + 3];
      let r0 = gV[i], r1 = gV[i + 1], r2 = gV[i + 2], r3 = gV[i + 3];
      for (let k = begin; k < end; k++) {
        const w = touched[k], at = w * stride + i, p = pi[w], r = rho[w];
        const e0 = E[at], e1 = E[at + 1], e2 = E[at + 2], e3 = E[at + 3];
        p0 += p * e0;
        p1 += p * e1;
        p2 += p * e2;
        p3 += p * e3;
        r0 += r * e0;
        r1 += r * e1;
        r2 += r * e2;
        r3 += r * e3;
        E[at] = e0 + (r * v0 + p * w0);
        E[at + 1] = e1 + (r * v1 + p * w1);
        E[at + 2] = e2 + (r * v2 + p * w2);
        E[at + 3] = e3 + (r * v3 + p * w3);
      }
      gW[i] = p0;
      gW[i + 1] = p1;
      gW[i + 2] = p2;
      gW[i + 3] = p3;
      gV[i] = r0;
      gV[i + 1] = r1;
      gV[i + 2] = r2;
      gV[i + 3] = r3;
    }
  }
}

function stepAdagrad(E, V, W, stride, touched, from, to, pi, rho, lam, n, rate, gV, gW, squares) {
  for (let begin = from; begin < to; begin += CHUNK) {
    const end = Math.min(begin + CHUNK, to);
    for (let i = 0; i < stride; i += 2) {
      const v0 = V[i] / (n * lam), v1 = V[i + 1] / (n * lam), w0 = W[i] / n, w1 = W[i + 1] / n;
      let p0 = gW[i], p1 = gW[i + 1], r0 = gV[i], r1 = gV[i + 1];
      for (let k = begin; k < end; k++) {
        const w = touched[k], at = w * stride + i, p = pi[w], r = rho[w], e0 = E[at], e1 = E[at + 1];
        const g0 = r * v0 + p * w0, g1 = r * v1 + p * w1;
        const sum0 = squares[at] + g0 * g0, sum1 = squares[at + 1] + g1 * g1;
        p0 += p * e0;
        p1 += p * e1;
        r0 += r * e0;
        r1 += r * e1;
        squares[at] = sum0;
        squares[at + 1] = sum1;
        E[at] = e0 + (rate * g0) / (Math.sqrt(sum0) + 1e-10);
        E[at + 1] = e1 + (rate * g1) / (Math.sqrt(sum1) + 1e-10);
      }
      gW[i] = p0;
      gW[i + 1] = p1;
      gV[i] = r0;
      gV[i + 1] = r1;
    }
  }
}
