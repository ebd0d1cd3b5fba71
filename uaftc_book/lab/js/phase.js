// A point in the plane of λ and cos(V₀, W₀): where it lies the mean field is solved, over the outcomes of stored runs.
import { difference, readAddress, replaceAddress } from "./address.js";
import { Scale, number, padded } from "./draw.js";
import { attention, flow, turned, upperEnd } from "./flow.js";
import { axes, f1 } from "./plane.js";

const KINDS = ["positive", "negative", "neutral"], LINEAR = 0.03, TICKS = [-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1];
const WIDE = 380, HIGH = 300, STEP = { x: 6, y: 6 }, BOX = { left: 54, right: 372, top: 24, bottom: 262 };
const { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM } = BOX;
const SHAPES = ["m0-3.4 3 5.2h-6z", "m0 3.4 3-5.2h-6z", "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"];
const DOTS = { w: ["wanted", "h0"], p: ["positive", SHAPES[0]], n: ["negative", SHAPES[1]], b: ["ink", "h0"] };
const OUTCOMES = {
  w: "positive and negative words end above neutral ones", p: "positive words end below neutral ones",
  n: "negative words end below neutral ones", b: "positive and negative words end below neutral ones",
};
const steps = (length) => `${length.toLocaleString("en")} steps`;
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
    const { lams, first, ranges, lengths } = this.data, [low, high] = [lams[0], lams.at(-1)];
    this.base = { ...first, range: ranges[0].reach, seed: 0, length: null };  // null: that of the range's stored runs
    const before = [...document.querySelectorAll("uaftc-phase")].indexOf(this);
    this.name = before ? `phase-${before + 1}` : "phase";
    const log = new Scale(low / 1.25, high * 1.25, LEFT, RIGHT, true), up = new Scale(-Math.asinh(1.25 / LINEAR), Math.asinh(1.25 / LINEAR), BOTTOM, TOP);
    this.x = (lam) => log.at(lam);
    this.y = (cosine) => up.at(Math.asinh(cosine / LINEAR));
    this.lamAt = (x) => Math.min(Math.max(10 ** (log.from + ((x - LEFT) / (RIGHT - LEFT)) * log.length), low), high);
    this.cosineAt = (y) => Math.min(Math.max(LINEAR * Math.sinh(up.from + ((BOTTOM - y) / (BOTTOM - TOP)) * up.length), -1), 1);
    const unique = `phase-${document.querySelectorAll("uaftc-phase").length}-${Math.random().toString(36).slice(2)}`;
    const choice = (name, label, words) =>
      `<fieldset><legend>${label}</legend>${words.map(([value, word]) => `<label><input type="radio" name="${unique}-${name}" data-name="${name}" value="${value}">${word}</label>`).join("")}</fieldset>`;
    this.innerHTML = `<div class="uaftc-frames uaftc-phase"><div class="choices">
      ${choice("range", "W₀ within", ranges.map(({ reach }) => [reach, `±${reach}`]))}${choice("seed", "seed", ranges[0].initialisations.map((_, i) => [i, i]))}</div>
      <label class="control"><span class="name">length of training: <span class="said"></span></span><span class="scale">
      <input type="range" data-name="length" aria-label="length of training" min="0" max="${lengths.length - 1}" step="1">
      <span class="stops" aria-hidden="true">${lengths.map((one, i) => `<span>${i && i < lengths.length - 1 && !ranges.some(({ time }) => time === one) ? "" : one.toLocaleString("en")}</span>`).join("")}</span></span></label>
      <div class="frame"><svg class="plane" viewBox="0 0 ${WIDE} ${HIGH}" role="group" aria-label="The plane of λ and cos(V₀, W₀): stored runs, the region where positive and negative words end above neutral ones, and a point to move">
      <g aria-hidden="true"></g><g class="point" role="slider" tabindex="0" aria-valuemin="${low}" aria-valuemax="${high}" aria-label="λ and cos(V₀, W₀), moved by the arrow keys">
      <circle class="reach" r="20"/><circle class="here" r="7.5"/></g></svg>
      <svg class="scores" viewBox="0 0 ${WIDE} ${HIGH}" role="img"></svg></div>
      <div class="legend"><span class="key wanted">run with both kinds above neutral words</span><span class="key positive">positive words; run in which they end below</span>
      <span class="key negative">negative words; run in which they end below</span><span class="key neutral">neutral words</span>
      <span class="key predicted">both kinds above, in closed form</span><span class="key ran">ends of the run at the point</span></div><p class="caption" aria-live="polite"></p></div>`;
    [this.plane, this.scores] = this.querySelectorAll("svg");
    [this.slider, this.point] = this.querySelectorAll("[type=range], .point");
    this.listen();
    const restore = () => this.move({ ...this.base, ...this.fitting(readAddress(location.hash).get(this.name) ?? {}) });
    restore();
    addEventListener("hashchange", () => { if (readAddress(location.hash).has(this.name)) restore(); });
    if ([...readAddress(location.hash).keys()][0] === this.name) this.scrollIntoView({ block: "center" });
  }

  // What of an address the figure can show.
  fitting(wanted) {
    const { lams, ranges, lengths } = this.data, { lam, cosine, range, seed, length } = wanted;
    const fits = { lam: lam >= lams[0] && lam <= lams.at(-1), cosine: Math.abs(cosine) <= 1, range: ranges.some(({ reach }) => reach === Number(range)),
      seed: Number(seed) in ranges[0].initialisations, length: lengths.includes(Number(length)) };
    return Object.fromEntries(Object.keys(fits).filter((name) => wanted[name] && fits[name]).map((name) => [name, Number(wanted[name])]));
  }

  // What the reader does; the address of a page, not that of a live notebook, follows a moment later.
  change(wanted) {
    this.move(wanted);
    clearTimeout(this.writing);
    if (!document.body.dataset.jpThemeLight) this.writing = setTimeout(() => replaceAddress([[this.name, difference(this.state, this.base)]], (name) => name === this.name), 200);
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
      else if (event.key === "Home") this.change({ lam: lams[0] });
      else if (event.key === "End") this.change({ lam: lams.at(-1) });
      else return;
      event.preventDefault();
    });
    this.addEventListener("keydown", (event) => event.stopPropagation());  // a page may turn its leaves with the arrow keys
    this.addEventListener("input", ({ target: { dataset: { name }, value } }) => {
      this.change({ [name]: name === "length" ? this.data.lengths[value] : Number(value) });
    });
  }

  // To pixels of the plane; a run that lies within half a step draws the point to itself.
  place(x, y) {
    const pull = (value, values, at) => {
      const run = nearest(values, value, at);
      return Math.abs(at(run) - at(value)) < STEP.x / 2 ? run : value;
    };
    const lam = Number(this.lamAt(x).toPrecision(3)), cosine = Math.round(1000 * this.cosineAt(y)) / 1000;
    this.change({ lam: pull(lam, this.data.lams, this.x), cosine: pull(cosine, this.data.cosines, this.y) });
  }

  get range() { return this.data.ranges.find(({ reach }) => reach === this.state.range); }
  get length() { return this.state.length ?? this.range.time; }
  get initial() { return this.range.initialisations[this.state.seed]; }
  upperEnd(cosine) { return upperEnd(this.data.field, this.initial, cosine, this.length); }

  drawPlane() {
    const { lams, cosines } = this.data, { outcomes, time } = this.range, { x, y } = this;
    const moments = Array.from({ length: 121 }, (_, i) => this.cosineAt(TOP + ((BOTTOM - TOP) * i) / 120));
    const [low, high] = [lams[0] / 1.25, lams.at(-1) * 1.25];
    const line = moments.map((cosine) => [x(Math.min(Math.max(this.upperEnd(cosine), low), high)), y(cosine)]);
    const seen = line.map(([at, up], i, all) => {  // along the edge of the plane it is not drawn
      const [out, before] = [at, i ? all[i - 1][0] : at].map((one) => one <= LEFT || one >= RIGHT);
      return `${i && !(out && before) ? "L" : "M"}${f1(at)} ${f1(up)}`;
    });
    const powers = lams.filter((lam) => Number.isInteger(Math.log10(lam)));
    const parts = [axes(BOX, [x, powers, "scaling factor λ"], [y, TICKS, "cos(V₀, W₀)"], number)];
    parts.push(`<polygon class="band" points="${path([[LEFT, line[0][1]], ...line, [LEFT, line.at(-1)[1]]])}"/><path class="end" d="${seen.join("")}"/>`);
    const runs = [...outcomes[this.state.seed]].map((letter, i) => [letter, x(lams[Math.floor(i / cosines.length)]), y(cosines[i % cosines.length])]);
    for (const [letter, [kind, shape]] of Object.entries(DOTS)) {
      parts.push(`<path class="dots ${kind}${this.length === time ? "" : " faint"}" d="${runs.filter(([one]) => one === letter).map(([, at, high]) => `M${f1(at)} ${f1(high)}${shape}`).join("")}"/>`);
    }
    this.plane.firstElementChild.innerHTML = parts.join("");
  }

  move(wanted) {
    this.state = { ...this.state, ...wanted };
    const { lam, cosine, seed } = this.state, { field, lams, cosines, lengths, scale } = this.data;
    const { length } = this, { time, outcomes } = this.range;
    if (["range", "seed", "length"].some((name) => name in wanted)) this.drawPlane();
    this.path = flow(field, turned(this.initial.gram, cosine), lam, length, this.data.flow).map(([at, G]) => [at, attention(G, lam)]);
    const run = [nearest(lams, lam, this.x), nearest(cosines, cosine, this.y)], there = run[0] === lam && run[1] === cosine;
    const i = lams.indexOf(run[0]) * cosines.length + cosines.indexOf(run[1]);
    const ran = there && length === time && this.initial.ends.slice(3 * i, 3 * i + 3).map((end) => end / scale / lam);
    this.predicted = outcome(this.path.at(-1)[1]);
    this.drawScores(length, ran || []);
    const here = `λ = ${number(lam)}, cos(V₀, W₀) = ${number(cosine)}`, end = this.upperEnd(cosine);
    const wanteds = outcomes.filter((one) => one[i] === "w").length;
    const found = outcomes[seed][i], where = there ? "there" : `at λ = ${number(run[0])} and ${number(run[1])}, the nearest,`;
    this.querySelector(".caption").textContent = `${here}, ${steps(length)}: in the mean field ${OUTCOMES[this.predicted]}. ` +
      (end < Infinity ? `This λ lies ${lam < end ? "below" : "above"} its upper end, ${number(end)}. ` : "There is no upper end of λ here. ") +
      (length === time ? `The stored run ${where} ${found === this.predicted ? "agrees" : `differs: ${OUTCOMES[found]}`}. With its settings ${wanteds} of ${outcomes.length} seeds end with both kinds above.` :
        `The faint dots are stored runs of ${steps(time)}.`);
    for (const input of this.querySelectorAll("[type=radio]")) input.checked = Number(input.value) === this.state[input.dataset.name];
    this.slider.value = lengths.indexOf(length);
    this.slider.setAttribute("aria-valuetext", this.querySelector(".said").textContent = steps(length));
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
