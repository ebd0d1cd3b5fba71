// The whole lab: λ and its band, training time, the scores of all words; behind "more" everything else.
import { AGAIN, buildAgain } from "./again.js";
import { BaseLab } from "./base.js";
import { buildCompact, drawCompact, placeCompact } from "./compact.js";
import { UNTRAINED, control, copyButton } from "./controls.js";
import { h } from "./elements.js";
import { number, percent } from "./draw.js";
import * as pictures from "./pictures.js";
import { player } from "./player.js";
import { CONTROLS, settle, typed } from "./state.js";
import { KINDS, numbers, wordOf } from "./run.js";
import { sentence } from "./sentence.js";
import { buildCheck } from "./check.js";

const FIGURES = [
  ["scatter", "The scores of all words"], ["means", "How they came about"],
  ["terms", "What moves one word"], ["vectors", "V and W"],
  ["weights", "Attention weights by kind of word"], ["accuracy", "Accuracy and loss"],
];
const EPOCH_TIME = 90;  // milliseconds, while playing
const FIRST = 3;  // presets that are seen at once

// What keeps the matrix from being conserved, apart from the size of the steps.
function whyDrift({ optimizer, penalty }) {
  const reasons = [optimizer === "adagrad" && "Adagrad does not follow the gradient flow", penalty > 0 && "the penalty on |V·W| breaks the law of conservation"].filter(Boolean);
  return reasons.length ? `, for ${reasons.join(", and ")}` : "";
}

const three = (values) => `${number(values[1])} positive, ${number(values[2])} negative, ${number(values[0])} neutral`;

// What a caption says, of the run and the epoch that its picture shows.
const CAPTIONS = {
  scatter: ({ shot, told }) => `After epoch ${shot.epoch} at λ = ${number(told.lam)}: mean attention score ${three(shot.aMeans)}.`,
  means: ({ shot, told }) => `Mean polarity score ${three(shot.sMeans)}; the gap in attention between positive and negative is ${number(told.gap)}.`,
  terms({ run, shot, index, token, word }) {
    const term = run.terms(token)[index], say = (names) => names.map((name) => `${name} ${number(term[name])}`).join(", ");
    return `${word} after epoch ${shot.epoch}: ${say(["A", "B", "C"])}; ${say(["D", "E", "F"])}.`;
  },
  vectors: ({ run, shot }) => `V·W = ${number(shot.VW)}; the conserved matrix has drifted by ${number(shot.drift)} of its size${whyDrift(run.config)}.`,
  weights: ({ run, index }) => `Median weight ${pictures.weightsByKind(run, index).map(({ kind, median }) => `${number(median)} ${KINDS[kind]}`).join(", ")}.`,
  accuracy: ({ shot }) => `After epoch ${shot.epoch}: training accuracy ${percent(shot.accuracy)}${shot.loss === null ? "" : `, loss ${number(shot.loss)}`}.`,
};

function buildScatter(lab, canvas) {
  const tip = h("div", { class: "tip", hidden: true });
  const stage = h("div", {
    class: "stage", tabindex: "0", role: "group", "aria-roledescription": "scatter plot",
    "aria-label": "Token types. Left and right arrow keys walk through them, Enter chooses one.",
  }, canvas, tip);
  const near = (event) => {
    const { left, top } = canvas.getBoundingClientRect(), { x, y } = canvas.places ?? { x: [] };
    let best = null, least = 18 ** 2;
    for (let w = 0; w < x.length; w++) {
      const away = (x[w] - event.clientX + left) ** 2 + (y[w] - event.clientY + top) ** 2 + (lab.run.problem.kinds[w] > 0 ? 0 : 4);
      if (away < least) [best, least] = [w, away];
    }
    return best;
  };
  const hover = (w, spoken) => {
    lab.hovered = w;
    tip.hidden = w === null;
    if (w !== null) {
      const shot = lab.run.snapshots[lab.index], kind = lab.run.problem.kinds[w], { x, y } = canvas.places;
      tip.replaceChildren(
        h("b", {}, wordOf(w)),
        `${KINDS[kind]} · s ${number(shot.s[w])} · a ${number(shot.a[w])}`, h("br"),
        `mean weight ${number(shot.weight[w])} · π ${number(shot.pi[w])} · ρ ${number(shot.rho[w])}`,
      );
      tip.style.left = `${Math.min(Math.max(x[w], 90), canvas.clientWidth - 90)}px`;
      tip.style.top = `${y[w]}px`;
      tip.classList.toggle("under", y[w] < 70);
      if (spoken) lab.say(tip.textContent);
    }
    lab.draw();
  };
  canvas.addEventListener("pointermove", (event) => hover(near(event)));
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("click", (event) => { const w = near(event); if (w !== null) { hover(w); lab.change({ token: w }); } });
  stage.addEventListener("focus", () => { if (stage.matches(":focus-visible") && lab.run) hover(lab.token, true); });
  stage.addEventListener("blur", () => hover(null));
  stage.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!lab.run || (!step && event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    if (event.key === "Escape") { hover(null); return; }
    if (!step) { if (lab.hovered !== null) lab.change({ token: lab.hovered }); return; }
    const { s } = lab.run.snapshots[lab.index], order = [...s.keys()].sort((v, w) => s[v] - s[w]);
    const at = order.indexOf(lab.hovered ?? lab.token);
    hover(order[(at + step + order.length) % order.length], true);
  });
  return stage;
}

function buildFull(lab) {
  const parts = (lab.parts = { canvases: {}, captions: {}, controls: new Map() });
  const changed = (name) => (value, dragging) => {
    lab.change({ ...(name === "optimizer" ? SETTINGS.suited[value] : {}), [name]: value }, { dragging });
  };

  parts.presets = Object.entries(SETTINGS.presets).map(([key, preset]) => h("button", {
    type: "button", "data-preset": key, onclick: () => lab.change(settle(preset.state, settle({}))),
  }, preset.label));
  parts.says = h("p", { class: "says" }, "Not yet trained.");
  parts.remark = h("p", { class: "remark" });

  const lam = control("lam", CONTROLS.lam, changed("lam"));
  parts.typed = h("input", { type: "text", inputmode: "decimal", class: "typed", "aria-label": "λ, as a number" });
  parts.typed.addEventListener("change", () => { lab.change({ lam: typed(parts.typed.value) }); lab.place(); });
  parts.band = h("canvas", UNTRAINED);

  const play = (parts.play = h("button", { type: "button", class: "play", disabled: true }, "Play"));
  let from;
  const stop = player(play, () => { from = lab.index >= lab.run.last ? 0 : lab.index; }, (passed) => {
    const epoch = from + Math.floor(passed / EPOCH_TIME), over = epoch >= lab.run.last;
    if (epoch !== lab.index) lab.change({ epoch: over ? null : epoch });
    return over;
  });
  parts.epoch = h("input", { type: "range", min: "0", step: "1", name: "epoch", "aria-label": "epoch shown" });
  parts.epoch.addEventListener("input", () => { stop(); const k = parts.epoch.valueAsNumber; lab.change({ epoch: k >= lab.state.epochs ? null : k }); });
  parts.epochSays = h("output", { class: "epoch" });

  const figures = FIGURES.map(([key, title]) => {
    const canvas = (parts.canvases[key] = h("canvas", UNTRAINED));
    const caption = (parts.captions[key] = h("figcaption", { class: "caption" }));
    return h("figure", { "data-figure": key }, h("h3", {}, title), key === "scatter" ? buildScatter(lab, canvas) : canvas, caption);
  });
  const legend = h("p", { class: "legend" }, ...["positive", "negative", "neutral"].map((kind) => h("span", { class: kind }, kind)));
  parts.token = h("span", { class: "token" });
  figures[2].querySelector("h3").append(": ", parts.token);
  figures[0].prepend(h("div", { class: "row" }, figures[0].querySelector("h3"), legend));

  const others = Object.keys(CONTROLS).filter((name) => name !== "lam").map((name) => {
    const one = control(name, CONTROLS[name], changed(name));
    parts.controls.set(name, one);
    return one.element;
  });
  parts.controls.set("lam", lam);

  const link = lab.hasAttribute("no-address") ? null : copyButton("Copy link", () => lab.link(), (text) => lab.say(text));

  const presets = (name, shown) => h("div", { class: "presets", role: "group", "aria-label": name }, ...shown);
  const more = h("details", { class: "more", ontoggle: () => lab.draw() },
    h("summary", {}, "More: presets, five pictures, all settings"),
    presets("more presets", parts.presets.slice(FIRST)),
    h("div", { class: "figures" }, ...figures.slice(1)),
    h("div", { class: "settings" }, h("h3", {}, "All settings"), h("div", { class: "controls" }, ...others)),
    h("div", { class: "again" }, h("h3", {}, AGAIN), buildAgain(lab)),
    buildCheck(lab),
  );
  // What is moved stands right above what it moves: on a phone both are seen at once.
  lab.root.append(h("section", { class: "lab full", "aria-label": "λ lab" },
    presets("presets", parts.presets.slice(0, FIRST)),
    h("div", { class: "lambda" }, h("span", { class: "name" }, "scaling factor ", h("i", {}, "λ")), lam.input, parts.typed, parts.band),
    parts.says, lab.statusLine, figures[0],
    h("div", { class: "row time" }, play, parts.epoch, parts.epochSays,
      h("button", { type: "button", onclick: () => { stop(); lab.change(lab.base); } }, "Reset"), link),
    parts.remark, more,
  ));
}

function drawFull(lab) {
  const { parts, run, index } = lab, shot = run.snapshots[index], view = lab.view, word = wordOf(view.token);
  for (const [key] of FIGURES) {
    const shown = lab.viewOf(key), { run, index } = shown;
    pictures[key](parts.canvases[key], shown);
    const said = CAPTIONS[key]({ ...shown, shot: run.snapshots[index], told: numbers(run, index), word });
    parts.captions[key].textContent = said;
    parts.canvases[key].setAttribute("aria-label", said);
  }
  pictures.band(parts.band, view, CONTROLS.lam);
  parts.says.textContent = sentence(lab.numbers);
  parts.band.setAttribute("aria-label", parts.says.textContent);
  parts.play.disabled = false;
  parts.epoch.max = String(run.config.epochs);
  parts.epoch.value = String(shot.epoch);
  parts.epoch.setAttribute("aria-valuetext", `epoch ${shot.epoch} of ${run.config.epochs}`);
  parts.epochSays.textContent = `epoch ${shot.epoch} of ${run.config.epochs}`;
  parts.token.textContent = word;
  if (run.milliseconds !== null && lab.announced !== run.job) {
    lab.announced = run.job;
    lab.say(parts.says.textContent);
  }
  lab.checkDone?.();
}

function placeFull(lab) {
  const { parts, state } = lab;
  for (const [name, one] of parts.controls) one.place(state[name]);
  if (lab.root.activeElement !== parts.typed || Number(parts.typed.value) !== state.lam) parts.typed.value = String(state.lam);
  let shown = "";
  for (const button of parts.presets) {
    const wanted = settle(SETTINGS.presets[button.dataset.preset].state), same = Object.keys(CONTROLS).every((name) => wanted[name] === state[name]);
    button.setAttribute("aria-pressed", String(same));
    if (same) shown = SETTINGS.presets[button.dataset.preset].says;
  }
  parts.remark.textContent = state.epoch === null ? shown : "";
  lab.placeAgain();
}

export class UaftcLab extends BaseLab {
  build() {
    this.compact = this.getAttribute("mode") === "compact";
    this.live = h("p", { class: "unseen", "aria-live": "polite" });
    (this.compact ? buildCompact : buildFull)(this);
    this.root.querySelector(".lab").append(this.live);
  }

  place() {
    (this.compact ? placeCompact : placeFull)(this);
  }

  redraw() {
    (this.compact ? drawCompact : drawFull)(this);
  }

  say(text) {
    this.live.textContent = text;
  }

  // What the status line says while nothing is wrong.
  get progress() {
    if (this.compact || !this.run) return "";
    const { problem, milliseconds } = this.run, count = (number) => number.toLocaleString("en");
    const size = `${count(problem.train.labels.length)} sentences, ${count(problem.types)} words`;
    return `${size}. ${milliseconds === null ? "Training…" : `Trained in ${Math.round(milliseconds)} ms, here in your browser.`}`;
  }
}
