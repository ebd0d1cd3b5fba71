// The pictures. Each draws one epoch of a run on a canvas; `ghost` is the run before it, while this one trains.
import { Scale, axes, curve, mark, number, padded, paint } from "./draw.js";
import { KINDS, ORDER, quantile } from "./run.js";

const LEFT = 52, RIGHT = 8;
const TERMS = [["A", "D"], ["B", "E"], ["C", "F"]];

// An axis of attention that is the same at every λ, unless a word lies beyond: logarithmic to both sides from ±0.01 on.
function attentionAxis(most, begin, end) {
  const of = (score) => Math.asinh(score / 0.01), reach = of(Math.max(1e5, most));
  const at = (score) => (begin + end + (of(score) / reach) * (end - begin)) / 2;
  return { begin, end, at, ticks: () => [-1e5, -1e3, -10, -0.1, 0, 0.1, 10, 1e3, 1e5] };
}

function extent(shots, pick, ...others) {
  let low = Infinity, high = -Infinity;
  const see = (value) => {
    if (!Number.isFinite(value)) return;
    if (value < low) low = value;
    if (value > high) high = value;
  };
  for (const shot of shots) for (const value of pick(shot)) see(value);
  others.forEach(see);
  return low <= high ? [low, high] : [0, 1];
}

// One panel over training time: lines, their values at the present epoch marked.
function timePanel(g, box, { run, ghost, index, ink }, { label, lines, range }) {
  const { left, right, top, bottom } = box;
  const shots = run.snapshots, all = ghost ? [...shots, ...ghost.snapshots] : shots;
  const bounds = range ?? padded(...extent(all, (shot) => lines.map((line) => line.of(shot)), 0));
  const x = new Scale(0, Math.max(run.config.epochs, 1), left, right), y = new Scale(...bounds, bottom, top);
  axes(g, x, y, { y: label, x: box.x, few: bottom - top < 110, vertical: false }, ink);
  g.save();
  g.beginPath();
  g.rect(left, top - 3, right - left + RIGHT, bottom - top + 6);
  g.clip();
  for (const line of lines) {
    const path = (some) => [some.map((shot) => x.at(shot.epoch)), some.map((shot) => y.at(line.of(shot)))];
    if (ghost && ghost.config.epochs === run.config.epochs) {
      g.globalAlpha = 0.3;
      curve(g, ...path(ghost.snapshots), line.colour);
      g.globalAlpha = 1;
    }
    curve(g, ...path(shots), line.colour);
  }
  if (shots[index]) {
    g.fillStyle = ink.axis;
    g.globalAlpha = 0.35;
    g.fillRect(x.at(shots[index].epoch) - 0.5, top, 1, bottom - top);
    g.globalAlpha = 1;
    for (const line of lines) {
      g.fillStyle = line.colour;
      mark(g, line.kind ?? 0, x.at(shots[index].epoch), y.at(line.of(shots[index])), 4);
    }
  }
  g.restore();
}

function panels(canvas, view, heights, body) {
  const total = heights.reduce((sum, height) => sum + height + 44, 0) + 8;
  paint(canvas, total, (g, width) => {
    let top = 20;
    heights.forEach((height, i) => {
      const last = i === heights.length - 1;
      body(g, { left: LEFT, right: width - RIGHT, top, bottom: top + height, x: last ? "epoch" : "" }, i);
      top += height + 44;
    });
  });
}

export function scatter(canvas, view) {
  const { run, ghost, index, token, hovered, ink } = view, shot = run.snapshots[index], { kinds } = run.problem;
  paint(canvas, Math.max(240, Math.min(340, canvas.clientWidth * 0.8)), (g, width, height) => {
    const bounds = (name) => extent(ghost ? [run, ghost] : [run], (one) => one.bounds[name]);
    const x = new Scale(...padded(...bounds("s")), LEFT, width - RIGHT);
    const y = attentionAxis(Math.max(...bounds("a").map(Math.abs)), height - 38, 20);
    axes(g, x, y, { x: "polarity score s", y: "↑ attention score a (logarithmic)", zero: true }, ink);
    const places = { x: new Float32Array(kinds.length), y: new Float32Array(kinds.length) };
    for (let w = 0; w < kinds.length; w++) {
      places.x[w] = x.at(shot.s[w]);
      places.y[w] = y.at(shot.a[w]);
    }
    canvas.places = places;
    for (const kind of [0, 1, 2]) {
      g.fillStyle = ink[KINDS[kind]];
      g.globalAlpha = kind ? 0.7 : 0.4;
      for (let w = 0; w < kinds.length; w++) {
        if (kinds[w] === kind) mark(g, kind, places.x[w], places.y[w], kind ? 3.6 : 2.2);
      }
    }
    g.globalAlpha = 1;
    for (const w of [token, hovered]) {
      if (w === null || w === undefined) continue;
      g.fillStyle = ink[KINDS[kinds[w]]];
      mark(g, kinds[w], places.x[w], places.y[w], 5);
      g.strokeStyle = ink.ink;
      g.lineWidth = 1.5;
      g.beginPath();
      g.arc(places.x[w], places.y[w], 8, 0, 2 * Math.PI);
      g.stroke();
    }
  });
}

export function means(canvas, view) {
  panels(canvas, view, [112, 112], (g, box, i) => {
    const name = i ? "aMeans" : "sMeans";
    const lines = [0, 2, 1].map((kind) => ({ kind, colour: view.ink[KINDS[kind]], of: (shot) => shot[name][kind] }));
    timePanel(g, box, view, { label: i ? "↑ mean attention score a" : "↑ mean polarity score s", lines });
  });
}

export function terms(canvas, view) {
  const { run, ghost, index, token, ink } = view, all = run.terms(token), before = ghost?.terms(token) ?? [];
  panels(canvas, view, [112, 112], (g, box, i) => {
    const names = TERMS.map((pair) => pair[i]), { left, right, top, bottom } = box;
    const sums = [...all, ...before].map((term) => names.reduce(([up, down], name) => [up + Math.max(term[name], 0), down + Math.min(term[name], 0)], [0, 0]));
    const x = new Scale(-0.5, run.config.epochs + 0.5, left, right);
    const y = new Scale(...padded(...extent(sums, (sum) => sum, 0)), bottom, top);
    axes(g, x, y, { y: i ? "↑ da/dτ = D + E + F" : "↑ ds/dτ = A + B + C", x: box.x, few: true, vertical: false }, ink);
    const wide = Math.max((right - left) / (run.config.epochs + 1) - 1.5, 1);
    all.forEach((term, k) => {
      let up = 0, down = 0;
      g.globalAlpha = k === index ? 1 : 0.55;
      names.forEach((name, j) => {
        const value = term[name], from = value > 0 ? up : down;
        g.fillStyle = ink[`term${j}`];
        g.fillRect(x.at(run.snapshots[k].epoch) - wide / 2, y.at(from + value), wide, y.at(from) - y.at(from + value));
        if (value > 0) up += value;
        else down += value;
      });
    });
    g.globalAlpha = 1;
    g.textAlign = "right";
    g.textBaseline = "top";
    let at = right;
    [...names].reverse().forEach((name, j) => {
      g.fillStyle = ink.ink;
      g.fillText(name, at, top - 17);
      g.fillStyle = ink[`term${names.length - 1 - j}`];
      g.fillRect(at - 18, top - 16, 8, 8);
      at -= 30;
    });
  });
}

export function vectors(canvas, view) {
  panels(canvas, view, [112, 112], (g, box, i) => {
    const [label, colour, of] = i ? ["↑ drift of EᵀE − VVᵀ − WWᵀ", view.ink.soft, (shot) => shot.drift] : ["↑ V·W", view.ink.term0, (shot) => shot.VW];
    timePanel(g, box, view, { label, lines: [{ colour, of }] });
  });
}

// Box plots of each type's mean weight (Figure 5): quartiles, whiskers within 1.5 of their distance, the rest as circles.
export function weightsByKind(run, index) {
  const { kinds } = run.problem, { weight } = run.snapshots[index];
  return ORDER.map((kind) => {
    const sorted = Float64Array.from(weight.filter((value, w) => kinds[w] === kind && Number.isFinite(value))).sort();
    const [q1, q2, q3] = [0.25, 0.5, 0.75].map((share) => quantile(sorted, share)), reach = 1.5 * (q3 - q1);
    const within = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
    return { kind, q1, median: q2, q3, low: within[0], high: within.at(-1), outliers: sorted.filter((value) => value < q1 - reach || value > q3 + reach) };
  });
}

export function weights(canvas, view) {
  const { run, ghost, index, ink } = view, boxes = weightsByKind(run, index);
  const seen = ghost ? [...boxes, ...weightsByKind(ghost, ghost.last)] : boxes;
  panels(canvas, view, [268], (g, { left, right, top, bottom }) => {
    const y = new Scale(...padded(...extent(seen, ({ low, high, outliers }) => [low, high, ...outliers], 0)), bottom, top);
    const x = new Scale(0, 3, left, right);
    axes(g, { ...x, begin: left, end: right, at: x.at, ticks: () => [] }, y, { y: "↑ mean attention weight α of a type" }, ink);
    boxes.forEach(({ kind, q1, median, q3, low, high, outliers }, i) => {
      const middle = x.at(i + 0.5), half = Math.min(34, (right - left) / 10), colour = ink[KINDS[kind]];
      g.strokeStyle = g.fillStyle = colour;
      for (const ends of [[low, q1], [q3, high]]) curve(g, [middle, middle], ends.map((end) => y.at(end)), colour, 1.5);
      g.globalAlpha = 0.25;
      g.fillRect(middle - half, y.at(q3), 2 * half, y.at(q1) - y.at(q3));
      g.globalAlpha = 1;
      g.strokeRect(middle - half, y.at(q3), 2 * half, y.at(q1) - y.at(q3));
      g.fillRect(middle - half, y.at(median) - 1, 2 * half, 2);
      g.lineWidth = 1;
      for (const value of outliers) {
        g.beginPath();
        g.arc(middle, y.at(value), 2.2, 0, 2 * Math.PI);
        g.stroke();
      }
      g.fillStyle = ink.ink;
      g.textAlign = "center";
      g.textBaseline = "top";
      g.fillText(KINDS[kind], middle, bottom + 6);
    });
  });
}

export function accuracy(canvas, view) {
  const { run, ink } = view, low = Math.min(...run.snapshots.map((shot) => 100 * shot.accuracy));
  panels(canvas, view, [112, 112], (g, box, i) => {
    const of = i ? (shot) => shot.loss ?? NaN : (shot) => 100 * shot.accuracy, lines = [{ colour: ink.ink, of }];
    const label = i ? "↑ training loss" : "↑ training accuracy, %", range = i ? undefined : [Math.min(low - 2, 95), 101];
    timePanel(g, box, view, { label, lines, range });
  });
}

// The band under the λ slider, on the slider's own scale: it stays while λ moves.
export function band(canvas, { run, ink }, { min, max }) {
  const { upper } = run.snapshots[0];
  paint(canvas, 30, (g, width) => {
    const x = new Scale(min, max, 8, width - 8, true);
    g.fillStyle = ink.grid;
    g.fillRect(8, 0, width - 16, 5);
    if (upper > min) {
      g.fillStyle = ink.term1;
      g.fillRect(8, 0, x.at(Math.min(upper, max)) - 8, 5);
    }
    g.fillStyle = ink.soft;
    g.textBaseline = "top";
    for (const value of x.ticks(width < 420 ? 3 : 8)) {
      g.textAlign = value === min ? "left" : value === max ? "right" : "center";
      g.fillText(number(value), x.at(value) + (value === min ? -8 : value === max ? 8 : 0), 12);
    }
  });
}
