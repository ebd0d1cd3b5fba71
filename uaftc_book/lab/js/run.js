// A training run as the pictures see it, and the numbers that captions say of it.
export const KINDS = ["neutral", "positive", "negative"], ORDER = [1, 2, 0];
const BEGIN = [0, 1000, 1050];  // the first token type of each kind
const BEYOND = 1e9;  // no model that learns has vectors or losses of this size

// A token type as a word: positive-3.
export function wordOf(w) {
  const kind = BEGIN.findLastIndex((begin) => w >= begin);
  return `${KINDS[kind]}-${w - BEGIN[kind]}`;
}

export class Run {
  constructor(job, config) {
    Object.assign(this, { job, config, problem: null, snapshots: [], milliseconds: null, diverged: null, begun: performance.now() });
    this.bounds = { a: [0, 0], s: [0, 0] };
  }

  add(snapshot) {
    if (this.diverged !== null) return;
    if (![snapshot.VV, snapshot.WW, snapshot.loss ?? 0].every((size) => size < BEYOND)) {
      this.diverged = snapshot.epoch;
      return;
    }
    const { kinds } = this.problem;
    for (const name of ["a", "s"]) {
      const values = snapshot[name], bounds = this.bounds[name], sums = [0, 0, 0], counts = [0, 0, 0];
      for (let w = 0; w < values.length; w++) {
        const value = values[w];
        if (value < bounds[0]) bounds[0] = value;
        if (value > bounds[1]) bounds[1] = value;
        sums[kinds[w]] += value;
        counts[kinds[w]]++;
      }
      snapshot[`${name}Means`] = sums.map((sum, kind) => sum / counts[kind]);
    }
    this.snapshots.push(snapshot);
  }

  get last() {
    return this.snapshots.length - 1;
  }

  // A..F of one token type at every epoch (Eq 19, 27).
  terms(w) {
    const m = this.problem.train.labels.length, { lam } = this.config;
    return this.snapshots.map(({ pi, rho, C, F, VW, VV, WW }) => ({
      A: (rho[w] * VW) / (m * lam), B: (pi[w] * WW) / m, C: C[w],
      D: (pi[w] * VW) / (m * lam), E: (rho[w] * VV) / (m * lam * lam), F: F[w],
    }));
  }
}

export function quantile(sorted, share) {
  const at = share * (sorted.length - 1), below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

// What a caption may say of one epoch; parity.numbers has the same names.
export function numbers(run, index) {
  const shot = run.snapshots[index], told = { ...run.config, epoch: shot.epoch, upper: run.snapshots[0].upper };
  for (const name of ["loss", "accuracy", "VW", "drift"]) told[name] = shot[name];
  KINDS.forEach((kind, k) => {
    told[`a_${kind}`] = shot.aMeans[k];
    told[`s_${kind}`] = shot.sMeans[k];
  });
  told.gap = Math.abs(told.a_positive - told.a_negative);
  return told;
}
