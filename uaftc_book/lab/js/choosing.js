// V/λ alone, words held, in log time: the slope and the programme of neighbours/selection.py, here in the plane.
export const BEGIN = -5, END = 1000;  // log(τ/λ²)
const STEP = 0.2, LARGEST = 300, MOST_STEPS = 1e5, ROUNDING = 1e-9;

const dot = (u, v) => u[0] * v[0] + u[1] * v[1];
const less = (u, v) => [u[0] - v[0], u[1] - v[1]];

// words: vectors in the plane; texts: [y, types of the text].
export function problem({ words, W, texts }) {
  return { words, s: words.map((e) => dot(e, W)), texts: texts.map(([y, types]) => ({ y, types })) };
}

// −∂L/∂V at λ = 1, divided by the exponential of the number beside it: exact where weights are rounded to 1.
export function slope({ words, s, texts }, V) {
  let shift = -Infinity;
  const logs = texts.map(({ types }) => {
    const a = types.map((w) => dot(words[w], V)), most = Math.max(...a), top = a.indexOf(most);
    const whole = most + Math.log(a.reduce((sum, x) => sum + Math.exp(x - most), 0));
    a.forEach((x, i) => { if (i !== top) shift = Math.max(shift, x - whole); });
    return { top: types[top], others: types.map((w, i) => [w, a[i] - whole]).filter((_, i) => i !== top) };
  });
  const pull = [0, 0];
  if (shift === -Infinity) return { pull, shift: 0 };
  texts.forEach(({ y }, t) => {
    const { top, others } = logs[t];
    const mean = others.reduce((sum, [w, log]) => sum + Math.exp(log) * (s[w] - s[top]), 0);
    const beta = 1 / (1 + Math.exp(y * (mean + s[top])));
    for (const [w, log] of others) {
      const size = Math.exp(log - shift) * (s[w] - s[top] - mean) * y * beta, away = less(words[w], words[top]);
      pull[0] += size * away[0] / texts.length;
      pull[1] += size * away[1] / texts.length;
    }
  });
  return { pull, shift };
}

// Where V and log time go along a curve of speed one: V may jump while time all but stands still.
function ahead(given, z) {
  const { pull, shift } = slope(given, z), grown = Math.exp(Math.min(shift + z[2], LARGEST));
  const move = [pull[0] * grown, pull[1] * grown, 1], speed = Math.hypot(...move);
  return move.map((x) => x / speed);
}

// [V₁, V₂, log time] at every step of Runge and Kutta's method.
export function flow(given, start) {
  const path = [[...start, BEGIN]], plus = (z, h, d) => z.map((x, i) => x + h * d[i]);
  for (let z = path[0]; z[2] < END && path.length < MOST_STEPS; path.push(z)) {
    const a = ahead(given, z), b = ahead(given, plus(z, STEP / 2, a)), c = ahead(given, plus(z, STEP / 2, b));
    const d = ahead(given, plus(z, STEP, c));
    z = z.map((x, i) => x + (STEP / 6) * (a[i] + 2 * b[i] + 2 * c[i] + d[i]));
  }
  return path;
}

// V at a moment of log time, between two steps.
export function at(path, time) {
  let low = 0, high = path.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (path[middle][2] <= time) low = middle;
    else high = middle;
  }
  const [p, q] = [path[low], path[high]], part = Math.min(1, (time - p[2]) / (q[2] - p[2] || 1));
  return [p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])];
}

// Of each text the word with the largest of some values, the first of equals.
export function largest({ texts }, values) {
  return texts.map(({ types, y }) => types.reduce((best, w) => (values(w, y) > values(best, y) ? w : best)));
}

export const chosenBy = (given, V) => largest(given, (w) => dot(given.words[w], V));
export const best = (given) => largest(given, (w, y) => y * given.s[w]);

// The shortest V by which every chosen word leads the others of its text by one, with these leads; null: there is none.
// In the plane one constraint or two decide, so all ones and pairs are tried.
export function programme({ words, texts }, chosen) {
  const rows = texts.flatMap(({ types }, text) => types.filter((w) => w !== chosen[text])
    .map((word) => ({ text, word, g: less(words[chosen[text]], words[word]) })));
  let V = rows.length ? null : [0, 0];
  const propose = (u) => {
    if (rows.every(({ g }) => dot(g, u) >= 1 - ROUNDING) && !(V && dot(V, V) <= dot(u, u))) V = u;
  };
  rows.forEach(({ g }, i) => {
    propose([g[0] / dot(g, g), g[1] / dot(g, g)]);
    for (const { g: f } of rows.slice(0, i)) {
      const area = g[0] * f[1] - g[1] * f[0];
      propose([(f[1] - g[1]) / area, (g[0] - f[0]) / area]);
    }
  });
  return V && { V, rows: rows.map((row) => ({ ...row, lead: dot(row.g, V) })) };
}

// The words that are tight though not worse than the chosen one of their text: of a locally optimal choice none.
export function tightAndBetter({ s, texts }, chosen, { rows }) {
  return rows.filter(({ text, word, lead }) => lead < 1 + 1e-6 && texts[text].y * (s[word] - s[chosen[text]]) >= 0);
}

export function cosine(u, v) {
  const size = Math.hypot(...u) * Math.hypot(...v);
  return size > 0 ? dot(u, v) / size : NaN;
}
