// V turning in the plane to the programme of its choice: two pictures, a clock, and what is chosen in words.
import { h } from "./elements.js";
import { axes, text } from "./plane.js";
import { player } from "./player.js";
import { BEGIN, END, at, best, chosenBy, cosine, flow, problem, programme, tightAndBetter } from "./choosing.js";

const STOPS = 400, PLAYED = 9000;  // of the clock; milliseconds from one end to the other
const SIDE = 300, WIDE = 380, BOX = { left: 46, right: 358, top: 40, bottom: 258 };
const NAMES = "abcdefgh", TURN = 5;  // degrees that the initial V turns by

const number = (x, digits = 1) => x.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
  .replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
const short = (x) => number(x, x < 1 ? 2 : x < 10 ? 1 : 0).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
const CLOCK = "log(τ/\u2060λ²)";  // never broken across lines
const rounded = (cos) => (Number.isFinite(cos) ? number(Math.floor(cos * 1e4) / 1e4, 4) : "–");  // 1 at the end only
const placeOf = (time) => Math.log(time + 1 - BEGIN) / Math.log(END + 1 - BEGIN);  // 0 to 1
const timeAt = (stop) => (END + 1 - BEGIN) ** (stop / STOPS) - 1 + BEGIN;
const listed = (all) => (all.length > 1 ? `${all.slice(0, -1).join(", ")} and ${all.at(-1)}` : all.join(""));

// A flow and what each stop of the clock shows of it.
function followed(given, { angle, size }) {
  const turn = (angle * Math.PI) / 180, path = flow(given, [size * Math.cos(turn), size * Math.sin(turn)]), known = new Map();
  return Array.from({ length: STOPS + 1 }, (_, stop) => {
    const time = timeAt(stop), V = at(path, time), none = !Math.hypot(...V), chosen = none ? null : chosenBy(given, V), key = String(chosen);
    if (!none && !known.has(key)) known.set(key, { chosen, margin: programme(given, chosen) });
    const { margin = null } = known.get(key) ?? {};
    return { time, V, chosen, key, margin, cosine: margin ? cosine(V, margin.V) : NaN };
  });
}

function arrow(from, to, kind) {
  const [x, y] = [to[0] - from[0], to[1] - from[1]], size = Math.hypot(x, y), [a, b] = [(8 * x) / size, (8 * y) / size];
  const head = `M${to[0] - a + b / 2} ${to[1] - b - a / 2}L${to[0]} ${to[1]}L${to[0] - a - b / 2} ${to[1] - b + a / 2}`;
  return `<path class="${kind}" d="M${from[0]} ${from[1]}L${to[0]} ${to[1]}"/><path class="${kind} head" d="${head}"/>`;
}

// The plane: words, constraints, and two arrows of fixed length.
function plane({ words, texts }, { V, chosen, margin, cosine }, { angle }) {
  const ends = [0, 1].map((i) => [Math.min(-1.3, ...words.map((e) => e[i] - 0.2)), Math.max(1.3, ...words.map((e) => e[i] + 0.2))]);
  const [across, up] = ends.map(([low, high]) => (low + high) / 2), unit = SIDE / Math.max(...ends.map(([low, high]) => high - low));
  const place = ([x, y]) => [SIDE / 2 + (x - across) * unit, SIDE / 2 - (y - up) * unit].map((z) => Math.round(10 * z) / 10);
  const along = (u, size) => place(u.map((x) => (size * x) / Math.hypot(...u))), middle = place([0, 0]);
  const turn = (angle * Math.PI) / 180, handle = place([Math.cos(turn), Math.sin(turn)]);
  const rows = (margin?.rows ?? []).map(({ text, word, lead }) => {
    const [p, q] = [place(words[word]), place(words[chosen[text]])];
    const kind = `${texts[text].y > 0 ? "positive" : "negative"} ask${lead < 1 + 1e-6 ? " tight" : ""}`;
    return `<line class="${kind}" x1="${p[0]}" y1="${p[1]}" x2="${q[0]}" y2="${q[1]}"/>`;
  });
  const dots = words.map((e, w) => {
    const [x, y] = place(e), right = e[0] > 0;
    return `<circle class="word${chosen?.includes(w) ? " chosen" : ""}" cx="${x}" cy="${y}" r="5"/>` +
      `<text class="label" x="${x + (right ? 9 : -9)}" y="${y + 15}" text-anchor="${right ? "start" : "end"}">${NAMES[w]}</text>`;
  });
  return `<line class="grid" x1="0" x2="${SIDE}" y1="${middle[1]}" y2="${middle[1]}"/>` +
    `<line class="grid" y1="0" y2="${SIDE}" x1="${middle[0]}" x2="${middle[0]}"/>` +
    `<circle class="grid unit" fill="none" cx="${middle[0]}" cy="${middle[1]}" r="${unit}"/>${rows.join("")}${dots.join("")}` +
    (margin && Math.hypot(...margin.V) ? arrow(middle, along(margin.V, 1.25), "aim") : "") +
    (chosen ? arrow(middle, along(V, 1), "now") : "") +
    `<circle class="handle" cx="${handle[0]}" cy="${handle[1]}" r="6"/>`;
}

// The cosine along the clock: a line for each choice; above it τ itself, which slides with λ.
function curve(shown, { stop, lam }) {
  const least = Math.min(...shown.map((one) => one.cosine).filter(Number.isFinite)), low = [0.9, 0.5, 0, -1].find((x) => x <= least) ?? -1;
  const { left, right, top, bottom } = BOX, slid = 2 * Math.log(lam), ticks = [BEGIN, 0, 10, 30, 100, 300, END];
  const x = (time) => left + placeOf(time) * (right - left), y = (cos) => bottom - ((cos - low) / (1 - low)) * (bottom - top);
  const here = x(shown[stop].time), { cosine } = shown[stop];
  const frame = axes(BOX, [x, ticks, CLOCK], [y, [low, (1 + low) / 2, 1], `cosine ${rounded(cosine)}`], short);
  const seen = ticks.filter((time) => time - slid >= BEGIN && time - slid <= END);
  const above = seen.map((time) => text(x(time - slid), top - 7, short(time), "middle", "tau"));
  let line = "";
  shown.forEach((one, i) => {
    if (Number.isFinite(one.cosine)) line += `${line && shown[i - 1].key === one.key ? "L" : "M"}${x(one.time).toFixed(1)} ${y(one.cosine).toFixed(1)}`;
  });
  return `${frame}${above.join("")}${text(right, 12, `log τ at λ = ${short(lam)} →`, "end", "label tau")}<path class="line ink" d="${line}"/>` +
    `<line class="here" x1="${here}" x2="${here}" y1="${top}" y2="${bottom}"/>` +
    (Number.isFinite(cosine) ? `<circle class="point" cx="${here}" cy="${y(cosine)}" r="5"/>` : "");
}

// What is chosen, how good it is, and where V goes from here.
function words(given, shown, stop) {
  const { chosen, margin, cosine, key, time } = shown[stop], good = best(given);
  if (!chosen) return { heading: "V is zero: it has no direction, and prefers no word.", rest: "" };
  const one = given.texts.length === 1, text = (t) => (one ? "" : ` in text ${t + 1}`);
  const said = listed(chosen.map((w, t) => `${NAMES[w]}${text(t)}${given.s[w] === given.s[good[t]] ? "" : ` (${NAMES[good[t]]} would be better)`}`));
  const all = chosen.every((w, t) => given.s[w] === given.s[good[t]]);
  const others = all ? (one ? ", the best word" : ", each the best of its text") : "";
  if (!margin) return { heading: "No V gives every one of these words a lead: the programme has no solution.", rest: `Chosen: ${said}${others}.` };
  const better = tightAndBetter(given, chosen, margin);
  const optimal = better.length ? `not locally optimal (tight, and no worse: ${listed(better.map(({ word, text: t }) => NAMES[word] + text(t)))})` : "locally optimal";
  const next = shown.slice(stop).find((later) => later.key !== key);
  const together = one || all ? "" : programme(given, good) ? " There is a V that chooses the best word of every text." : " No V chooses the best word of every text at once.";
  return {
    heading: `${cosine >= 0.999 ? "V points where the programme does" : "V is still turning"}: cosine ${rounded(cosine)} at ${CLOCK} = ${number(time)}.`,
    rest: `Chosen: ${said}${others}. The choice is ${optimal}. V ${next ? `leaves it at ${CLOCK} = ${number(next.time)}` : `keeps it to the end, ${CLOCK} = ${number(END, 0)}`}.${together}`,
  };
}

// Everything into `box`; the figure is a state, what is drawn follows from it.
function build(box, presets) {
  const state = { preset: box.dataset.preset, lam: 10, stop: Math.round(STOPS * placeOf(0)) };
  let given, shown, from;
  const slider = (name, min, max, step, heard) => {
    const input = h("input", { type: "range", min, max, step, "aria-label": name }), output = h("span", { class: "said" });
    input.addEventListener("input", () => heard(input.valueAsNumber));
    return { input, output, row: h("label", { class: "control" }, h("span", { class: "name" }, name), input, output) };
  };
  const place = ({ input, output }, value, text, more = "") => { input.value = value; input.setAttribute("aria-valuetext", text + more); output.textContent = text; };
  const start = slider("initial V: direction", -180, 180, TURN, (angle) => turnTo(angle));
  const size = slider("initial V/λ: length", 0, 10, 0.5, (value) => change({ size: value }));
  const lam = slider("scaling factor λ", -1, 3, 0.1, (power) => change({ lam: 10 ** power }));
  const clock = slider("clock τ/λ²", 0, STOPS, 1, (stop) => { pause(); change({ stop }); });
  const play = h("button", { type: "button" }, "Play"), says = h("p", { class: "caption" });
  const heading = h("b"), rest = h("span"), pictures = h("div", { class: "frame" });
  pictures.innerHTML = `<svg class="plane" viewBox="0 0 ${SIDE} ${SIDE}" role="img"></svg><svg class="course" viewBox="0 0 ${WIDE} 300" role="img"></svg>`;
  const [left, right] = pictures.children;
  const buttons = Object.entries(presets).map(([name, { label }]) => {
    const button = h("button", { type: "button" }, label);
    button.addEventListener("click", () => { pause(); load(name); });
    return [name, button];
  });
  const key = (kind, text) => h("span", { class: `sign ${kind}` }, text);
  box.replaceChildren(h("div", { class: "presets" }, ...buttons.map(([, button]) => button)), says, pictures,
    h("div", { class: "legend" }, key("now", "V"), key("aim", "its programme"), key("chosen", "chosen word"), key("other", "other word"), key("start", "initial V"),
      key("positive", "constraint, positive text"), key("negative", "negative text"), key("thick", "tight: thick")),
    h("div", { class: "control time" }, play, clock.row), start.row, size.row, lam.row, h("p", { class: "caption" }, heading, " ", rest));

  function load(name) {
    given = problem(presets[name]);
    change({ preset: name, angle: presets[name].angle, size: presets[name].size });
  }

  // A vector of no length cannot be turned.
  function turnTo(angle) {
    change({ angle, size: state.size || 3 });
  }

  function change(wanted) {
    Object.assign(state, wanted);
    if ("angle" in wanted || "size" in wanted) shown = followed(given, state);
    draw();
  }

  function draw() {
    const now = shown[state.stop], told = words(given, shown, state.stop), log = now.time + 2 * Math.log(state.lam), own = presets[state.preset];
    left.innerHTML = plane(given, now, state);
    right.innerHTML = curve(shown, state);
    heading.textContent = told.heading;
    rest.textContent = told.rest;
    left.setAttribute("aria-label", `The plane of the embeddings. ${told.rest}`);
    right.setAttribute("aria-label", `Cosine of V and its programme. ${told.heading}`);
    place(clock, state.stop, `${CLOCK} = ${number(now.time)}`, `, cosine ${rounded(now.cosine)}`);
    place(start, state.angle, state.size ? `${number(state.angle, 0)}°` : "none: V is zero");
    place(size, state.size, number(state.size));
    place(lam, Math.log10(state.lam), `${short(state.lam)}: log τ = ${number(log)}, |V| = ${short(state.lam * Math.hypot(...now.V))}`);
    says.textContent = own.says;
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", name === state.preset && state.angle === own.angle && state.size === own.size);
  }

  const pause = player(play, () => { from = state.stop < STOPS ? state.stop : 0; }, (passed) => {
    change({ stop: Math.min(STOPS, from + Math.round((STOPS * passed) / PLAYED)) });
    return state.stop === STOPS;
  });

  // With the mouse the initial V is turned in the picture; a finger there scrolls the page.
  const towards = (event) => {
    if (event.pointerType === "touch" || !event.buttons) return;
    const { left: x, top: y, width, height } = left.querySelector(".unit").getBoundingClientRect();
    const turn = Math.atan2(y + height / 2 - event.clientY, event.clientX - x - width / 2);
    turnTo(TURN * Math.round((turn * 180) / Math.PI / TURN));
  };
  left.addEventListener("pointerdown", (event) => { left.setPointerCapture(event.pointerId); event.preventDefault(); towards(event); });
  left.addEventListener("pointermove", towards);
  load(state.preset);
}

build(document.currentScript?.parentElement ?? [...document.querySelectorAll(".uaftc-choosing")].at(-1), PRESETS);
