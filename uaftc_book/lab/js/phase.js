// A point in the plane of λ and cos(V₀, W₀): where it lies the mean field is solved, over the outcomes of stored runs.
import { Scale, number, padded } from "./draw.js";
import { attention, band, flow, turned } from "./flow.js";
import { axes, f1 } from "./plane.js";

const KINDS = ["positive", "negative", "neutral"], LINEAR = 0.03, TICKS = [-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1];
const WIDE = 380, HIGH = 300, STEP = { x: 6, y: 6 }, BOX = { left: 46, right: 372, top: 24, bottom: 262 };
const { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM } = BOX;
const SHAPES = ["m0-3.4 3 5.2h-6z", "m0 3.4 3-5.2h-6z", "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"];
const DOTS = { w: ["wanted", "h0"], p: ["positive", SHAPES[0]], n: ["negative", SHAPES[1]], b: ["ink", "h0"] };
const OUTCOMES = {
  w: "both kinds of polar words end above the neutral ones", p: "positive words sink below the neutral ones",
  n: "negative words sink below the neutral ones", b: "both kinds of polar words sink below the neutral ones",
};
const path = (points) => points.map(([x, y]) => `${f1(x)},${f1(y)}`).join(" ");
const nearest = (values, value, at) => values.reduce((best, one) => (Math.abs(at(one) - at(value)) < Math.abs(at(best) - at(value)) ? one : best));

// Which kinds end above the neutral words, as one letter.
function outcome([positive, negative, neutral]) {
  return positive > neutral ? (negative > neutral ? "w" : "n") : negative > neutral ? "p" : "b";
}

class Phase extends HTMLElement {
  connectedCallback() {
    if (this.data) return;
    this.data = JSON.parse(this.querySelector("script").textContent);
    const { lams, first, ranges } = this.data, [low, high] = [lams[0], lams.at(-1)];
    this.state = { ...first, range: 0, seed: 0 };
    const log = new Scale(low / 1.25, high * 1.25, LEFT, RIGHT, true), up = new Scale(-Math.asinh(1.25 / LINEAR), Math.asinh(1.25 / LINEAR), BOTTOM, TOP);
    this.x = (lam) => log.at(lam);
    this.y = (cosine) => up.at(Math.asinh(cosine / LINEAR));
    this.lamAt = (x) => Math.min(Math.max(10 ** (log.from + ((x - LEFT) / (RIGHT - LEFT)) * log.length), low), high);
    this.cosineAt = (y) => Math.min(Math.max(LINEAR * Math.sinh(up.from + ((BOTTOM - y) / (BOTTOM - TOP)) * up.length), -1), 1);
    const unique = `phase-${document.querySelectorAll("uaftc-phase").length}-${Math.random().toString(36).slice(2)}`;
    const choice = (name, label, words) =>
      `<fieldset><legend>${label}</legend>${words.map((word, i) => `<label><input type="radio" name="${unique}-${name}" data-name="${name}" value="${i}"${i ? "" : " checked"}>${word}</label>`).join("")}</fieldset>`;
    this.innerHTML = `<div class="uaftc-frames uaftc-phase"><div class="choices">
      ${choice("range", "W₀ within", ranges.map(({ reach }) => `±${reach}`))}${choice("seed", "seed", ranges[0].initialisations.map((_, i) => i))}</div>
      <div class="frame"><svg class="plane" viewBox="0 0 ${WIDE} ${HIGH}" role="group" aria-label="The plane of λ and cos(V₀, W₀): stored runs, the predicted band, and a point to move">
      <g aria-hidden="true"></g><g class="point" role="slider" tabindex="0" aria-valuemin="${low}" aria-valuemax="${high}" aria-label="λ and cos(V₀, W₀), moved by the arrow keys">
      <circle class="reach" r="20"/><circle class="here" r="7.5"/></g></svg>
      <svg class="scores" viewBox="0 0 ${WIDE} ${HIGH}" role="img"></svg></div>
      <div class="legend"><span class="key wanted">run as wanted</span><span class="key positive">positive words; run in which they sink</span>
      <span class="key negative">negative words; run in which they sink</span><span class="key neutral">neutral words</span>
      <span class="key predicted">predicted band</span><span class="key ran">ends of the run at the point</span></div><p class="caption" aria-live="polite"></p></div>`;
    [this.plane, this.scores] = this.querySelectorAll("svg");
    this.point = this.querySelector(".point");
    this.listen();
    this.drawPlane();
    this.move(this.state);
  }

  listen() {
    let dragging = false;
    const to = (event) => {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.plane.getScreenCTM().inverse());
      this.place(x, y);
    };
    this.plane.addEventListener("pointerdown", (event) => {
      if (event.button || (event.pointerType !== "mouse" && !event.target.closest(".point"))) return;  // a finger beside it scrolls
      dragging = true;
      this.plane.setPointerCapture(event.pointerId);
      event.preventDefault();
      this.point.focus({ preventScroll: true, focusVisible: false });
    });
    this.plane.addEventListener("pointermove", (event) => { if (dragging) to(event); });
    for (const over of ["pointerup", "pointercancel"]) this.plane.addEventListener(over, () => { dragging = false; });
    this.plane.addEventListener("click", to);
    this.point.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    this.point.addEventListener("keydown", (event) => {
      const far = event.shiftKey ? 4 : 1, { lam, cosine } = this.state, { lams } = this.data;
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [0, 4], PageDown: [0, -4] }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (by) this.place(this.x(lam) + by[0] * far * STEP.x, this.y(cosine) - by[1] * far * STEP.y);
      else if (event.key === "Home") this.move({ lam: lams[0] });
      else if (event.key === "End") this.move({ lam: lams.at(-1) });
      else return;
      event.preventDefault();
    });
    this.addEventListener("keydown", (event) => event.stopPropagation());  // a page may turn its leaves with the arrow keys
    this.addEventListener("change", ({ target }) => {
      this.state[target.dataset.name] = Number(target.value);
      this.drawPlane();
      this.move({});
    });
  }

  // To pixels of the plane; a run that lies within half a step draws the point to itself.
  place(x, y) {
    const pull = (value, values, at) => {
      const run = nearest(values, value, at);
      return Math.abs(at(run) - at(value)) < STEP.x / 2 ? run : value;
    };
    const lam = Number(this.lamAt(x).toPrecision(3)), cosine = Math.round(1000 * this.cosineAt(y)) / 1000;
    this.move({ lam: pull(lam, this.data.lams, this.x), cosine: pull(cosine, this.data.cosines, this.y) });
  }

  get initial() {
    return this.data.ranges[this.state.range].initialisations[this.state.seed];
  }

  drawPlane() {
    const { lams, cosines, ranges } = this.data, { range, seed } = this.state, { x, y } = this;
    const moments = Array.from({ length: 121 }, (_, i) => this.cosineAt(TOP + ((BOTTOM - TOP) * i) / 120));
    const ends = moments.map((cosine) => [band(this.initial, cosine), y(cosine)]), [low, high] = [lams[0] / 1.25, lams.at(-1) * 1.25];
    const line = (name) => ends.map(([end, at]) => [x(Math.min(Math.max(end[name], low), high)), at]);
    const seen = (name) => line(name).map(([at, up], i, all) => {  // along the edge of the plane it is not drawn
      const [out, before] = [at, i ? all[i - 1][0] : at].map((one) => one <= LEFT || one >= RIGHT);
      return `${i && !(out && before) ? "L" : "M"}${f1(at)} ${f1(up)}`;
    });
    const powers = lams.filter((lam) => Number.isInteger(Math.log10(lam)));
    const parts = [axes(BOX, [x, powers, "scaling factor λ"], [y, TICKS, "cos(V₀, W₀)"], number)];
    parts.push(`<polygon class="band" points="${path([...line("lower"), ...line("upper").reverse()])}"/>`);
    for (const name of ["lower", "upper"]) parts.push(`<path class="end ${name}" d="${seen(name).join("")}"/>`);
    const runs = [...ranges[range].outcomes[seed]].map((letter, i) => [letter, x(lams[Math.floor(i / cosines.length)]), y(cosines[i % cosines.length])]);
    for (const [letter, [kind, shape]] of Object.entries(DOTS)) {
      parts.push(`<path class="dots ${kind}" d="${runs.filter(([one]) => one === letter).map(([, at, high]) => `M${f1(at)} ${f1(high)}${shape}`).join("")}"/>`);
    }
    this.plane.firstElementChild.innerHTML = parts.join("");
  }

  move(wanted) {
    Object.assign(this.state, wanted);
    const { lam, cosine, range, seed } = this.state, { field, lams, cosines, ranges, scale } = this.data;
    const { time, steps, every, outcomes } = ranges[range], began = performance.now();
    this.path = flow(field, turned(this.initial.gram, cosine), lam, time, steps, every).map(([at, G]) => [at, attention(G, lam)]);
    this.milliseconds = performance.now() - began;
    const run = [nearest(lams, lam, this.x), nearest(cosines, cosine, this.y)], there = run[0] === lam && run[1] === cosine;
    const i = lams.indexOf(run[0]) * cosines.length + cosines.indexOf(run[1]);
    const ran = there && this.initial.ends.slice(3 * i, 3 * i + 3).map((end) => end / scale / lam);
    this.predicted = outcome(this.path.at(-1)[1]);
    this.drawScores(time, ran || []);
    const here = `λ = ${number(lam)}, cos(V₀, W₀) = ${number(cosine)}`, ends = band(this.initial, cosine);
    const side = lam >= ends.upper ? "above" : lam <= ends.lower ? "below" : "within", wanteds = outcomes.filter((one) => one[i] === "w").length;
    const found = outcomes[seed][i], where = there ? "there" : `at λ = ${number(run[0])} and ${number(run[1])}, the nearest,`;
    this.querySelector(".caption").textContent = `${here}: by the mean field ${OUTCOMES[this.predicted]}. This λ lies ${side} the predicted band, ` +
      `${number(ends.lower)} to ${number(ends.upper)}. The stored run ${where} came out ${found === this.predicted ? "so, too" : `otherwise: ${OUTCOMES[found]}`}. ` +
      `Of ${outcomes.length} seeds with its settings ${wanteds} came out as wanted.`;
    this.point.setAttribute("transform", `translate(${f1(this.x(lam))} ${f1(this.y(cosine))})`);
    this.point.setAttribute("aria-valuenow", lam);
    this.point.setAttribute("aria-valuetext", here);
  }

  drawScores(time, ran) {
    const last = this.path.at(-1)[1], all = [...this.path.flatMap(([, scores]) => scores), ...ran];
    const [low, high] = padded(Math.min(...all), Math.max(...all)), across = new Scale(0, time * 1.04, LEFT, RIGHT), up = new Scale(low, high, BOTTOM, TOP);
    const x = (value) => across.at(value), y = (value) => up.at(value);
    const lines = KINDS.map((kind, k) => `<polyline class="line ${kind}" points="${path(this.path.map(([at, scores]) => [x(at), y(scores[k])]))}"/>`);
    const marks = ran.map((end, k) => `<path class="ran ${KINDS[k]}" d="M${f1(x(time))} ${f1(y(end))}${SHAPES[k]}"/>`);
    const frame = axes(BOX, [x, across.ticks(4), "time τ of the flow"], [y, up.ticks(5), "mean attention score"], number);
    this.scores.innerHTML = frame + lines.join("") + marks.join("");
    this.scores.setAttribute("aria-label", `Mean attention scores over time, by the mean field; at the end ${KINDS.map((kind, k) => `${number(last[k])} ${kind}`).join(", ")}.`);
  }
}

if (!customElements.get("uaftc-phase")) customElements.define("uaftc-phase", Phase);
