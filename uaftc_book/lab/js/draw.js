// Scales, numbers and axes on a canvas that is as sharp as the screen.
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

// Three digits and a true minus sign, as captions and axes say it.
export function number(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text;
  if (size >= 1000 && size < 10000) text = value.toFixed(0);
  else if (size !== 0 && (size < 1e-4 || size >= 10000)) {
    const [digits, power] = value.toExponential(2).split("e");
    const short = digits.replace(/\.?0+$/, "");
    const raised = [...power.replace("+", "")].map((c) => (c === "-" ? "⁻" : RAISED[c])).join("");
    text = `${short}·10${raised}`.replace(/^(-?)1·/, "$1");
  } else text = String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

export class Scale {
  constructor(low, high, begin, end, logarithmic = false) {
    Object.assign(this, { low, high, begin, end, logarithmic });
    this.from = logarithmic ? Math.log10(low) : low;
    this.length = (logarithmic ? Math.log10(high) : high) - this.from;
  }

  at(value) {
    return this.begin + (((this.logarithmic ? Math.log10(value) : value) - this.from) / this.length) * (this.end - this.begin);
  }

  ticks(about = 5) {
    if (this.logarithmic) {
      const first = Math.ceil(this.from - 1e-9), last = Math.floor(this.from + this.length + 1e-9);
      const every = Math.ceil((last - first + 1) / (about + 2));
      return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, k) => 10 ** (first + k * every));
    }
    const rough = this.length / about, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) * power;
    const first = Math.ceil(this.low / step - 1e-9), last = Math.floor(this.high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  }
}

// Bounds a little outside of what was seen; never empty.
export function padded(low, high) {
  const margin = 0.06 * (high - low) || Math.max(Math.abs(low), 1e-3) * 0.5;
  return [low - margin, high + margin];
}

// Clears the canvas at the screen's own resolution, and draws in CSS pixels.
export function paint(canvas, height, body) {
  const width = canvas.clientWidth, ratio = globalThis.devicePixelRatio || 1;
  if (!width) return;
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, sans-serif";
  g.lineJoin = "round";
  body(g, width, height);
}

export function axes(g, x, y, labels, ink) {
  const { begin: left, end: right } = x, { begin: bottom, end: top } = y;
  g.fillStyle = ink.soft;
  const sharp = (...at) => at.map((one) => Math.round(one) + 0.5);
  const line = (x1, y1, x2, y2, colour) => curve(g, sharp(x1, x2), sharp(y1, y2), colour, 1);
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (const value of y.ticks(labels.few ? 3 : 5)) {
    line(left, y.at(value), right, y.at(value), value === 0 && !y.logarithmic ? ink.axis : ink.grid);
    g.fillText(number(value), left - 6, y.at(value));
  }
  g.textBaseline = "top";
  g.textAlign = "center";
  for (const value of x.ticks(right - left < 240 ? 4 : 6)) {
    if (labels.vertical !== false) line(x.at(value), top, x.at(value), bottom, value === 0 && labels.zero ? ink.axis : ink.grid);
    g.fillText(number(value), x.at(value), bottom + 6);
  }
  g.fillStyle = ink.ink;
  g.textAlign = "right";
  if (labels.x) g.fillText(`${labels.x} →`, right, bottom + 21);
  g.textAlign = "left";
  if (labels.y) g.fillText(labels.y, 0, Math.max(top - 17, 0));
}

export function curve(g, xs, ys, colour, width = 1.75) {
  g.strokeStyle = colour;
  g.lineWidth = width;
  g.beginPath();
  let drawing = false;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) { drawing = false; continue; }
    if (drawing) g.lineTo(xs[i], ys[i]);
    else g.moveTo(xs[i], ys[i]);
    drawing = true;
  }
  g.stroke();
}

// A shape of its own for each kind, so that colour is never alone: ● neutral, ▲ positive, ▼ negative.
export function mark(g, kind, x, y, size) {
  g.beginPath();
  if (kind === 1 || kind === 2) {
    const up = kind === 1 ? -1 : 1;
    g.moveTo(x, y + up * size * 1.15);
    g.lineTo(x - size, y - up * size * 0.75);
    g.lineTo(x + size, y - up * size * 0.75);
    g.closePath();
  } else g.arc(x, y, size, 0, 2 * Math.PI);
  g.fill();
}
