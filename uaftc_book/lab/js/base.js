// What the full lab and the one inside a sentence share: state, training, address, colours, redrawing.
import { difference, readAddress, replaceAddress } from "./address.js";
import * as host from "./host.js";
import { Run, numbers } from "./run.js";
import { configOf, misfits, settle } from "./state.js";
import { h } from "./elements.js";

const labs = new Map();
const GROWING = ["means", "vectors", "accuracy"];  // pictures of lines over time
const PATIENCE = 80;  // milliseconds
const INKS = ["ink", "soft", "axis", "grid", "neutral", "positive", "negative", "term0", "term1", "term2"];
let shared = readAddress(location.hash), writing = null;

function darkPage() {
  const theme = document.documentElement.dataset.theme, jupyter = document.body?.dataset.jpThemeLight;
  if (theme === "dark" || theme === "light") return theme === "dark";
  if (jupyter) return jupyter === "false";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// The present states of the page's labs go into its address, the one moved last first.
function writeNow() {
  clearTimeout(writing);
  const named = [...new Set([...shared.keys(), ...labs.keys()])].filter((name) => labs.has(name)).map((name) => labs.get(name));
  const parts = named.filter((lab) => !lab.hasAttribute("no-address")).map(({ name, state, base }) => [name, difference(state, base)]);
  replaceAddress(parts, (name) => labs.has(name));
}

function watchPage() {
  const watch = new MutationObserver(() => labs.forEach((lab) => lab.recolour()));
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => labs.forEach((lab) => lab.recolour()));
  addEventListener("beforeprint", () => labs.forEach((lab) => lab.beforePrint()));
  addEventListener("afterprint", () => labs.forEach((lab) => lab.recolour()));
  addEventListener("click", setNearest);
  addEventListener("hashchange", () => {
    shared = readAddress(location.hash);
    labs.forEach((lab) => lab.readAddress());
  });
}

const ROOM = 60;  // pixels by which the sentence of a live figure may grow

// A setting that the text of a page names is a button: as the page was published, but for this, is what the live
// figure nearest to it then shows, and the reader sees; the keys stay at the button.
function setNearest({ target }) {
  const button = target.closest?.("button[data-set]");
  if (!button) return;
  const { top: at } = button.getBoundingClientRect();
  const away = ({ top, bottom }) => Math.max(top - at, at - bottom);
  const [nearest] = [...labs.values()].sort((one, other) => away(one.getBoundingClientRect()) - away(other.getBoundingClientRect()));
  nearest.change({ ...nearest.base, ...Object.fromEntries(new URLSearchParams(button.dataset.set)) });
  const { top, bottom } = nearest.root.querySelector("[data-figure] canvas, .compact canvas").getBoundingClientRect();
  if (top + bottom > 2 * ROOM && top + bottom < 2 * innerHeight) {  // half of the picture is seen, and stays so
    const stay = new ResizeObserver(() => scrollBy({ top: button.getBoundingClientRect().top - at, behavior: "instant" }));
    stay.observe(nearest);  // its sentence may have a line more or less, now and when it is trained
    for (const event of ["wheel", "keydown", "pointerdown", "touchmove"]) addEventListener(event, () => stay.disconnect(), { once: true });
    return;
  }
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  nearest.scrollIntoView({ behavior, block: nearest.clientHeight > innerHeight ? "start" : "nearest" });
}

export class BaseLab extends HTMLElement {
  connectedCallback() {
    if (this.root) return;
    if (!labs.size) watchPage();
    let name = this.getAttribute("name") || "lab";
    for (let i = 2; labs.has(name); i++) name = `${this.getAttribute("name") || "lab"}-${i}`;
    this.name = name;
    labs.set(name, this);
    let given = {};
    try { given = JSON.parse(this.getAttribute("state") || "{}"); } catch { /* the defaults, then */ }
    this.base = settle(given);
    this.state = settle(shared.get(name) ?? {}, this.base);
    this.warning = misfits(shared.get(name) ?? {}, this.base) || (shared.spoilt ?? "");
    this.job = 0;
    this.run = this.incoming = null;
    this.hovered = null;
    this.statusLine = h("p", { class: "status" });
    this.root = this.attachShadow({ mode: "open" });
    this.root.append(h("style", {}, CSS));
    // A page may turn its leaves with the arrow keys; here they move a slider.
    this.root.addEventListener("keydown", (event) => { if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation(); });
    this.build();
    host.register(name, (message) => this.hear(message));
    this.recolour();
    this.place();
    this.tell();
    new ResizeObserver(() => this.draw()).observe(this);
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      this.request();
    }, { rootMargin: "400px" });
    seen.observe(this);
    if (shared.has(name) && [...shared.keys()][0] === name) this.scrollIntoView({ block: "center" });
  }

  get config() {
    return configOf(this.state);
  }

  // Some settings change; `dragging`: more moves will follow, so what is being trained may be finished first.
  change(wanted, { dragging = false } = {}) {
    const before = JSON.stringify(this.config), next = settle(wanted, this.state);
    this.warning = misfits(wanted, this.state);
    this.state = next;
    this.place();
    this.remember();
    if (JSON.stringify(this.config) !== before) this.request(dragging);
    else this.draw();
  }

  request(dragging = false) {
    this.held = dragging && this.run !== null;
    host.train({ lab: this.name, job: ++this.job, config: this.config, at_once: !dragging });
  }

  hear({ job, problem, snapshot, done, failed, lost }) {
    if (lost) {
      if (this.job) this.request();
      return;
    }
    if (failed) {
      if (job === this.job) this.warn(`Training stopped: ${failed}`);
      return;
    }
    if (problem) {
      this.incoming = new Run(job, this.config);
      this.incoming.problem = problem;
      return;
    }
    const incoming = this.incoming;
    if (!incoming || incoming.job !== job) return;
    if (snapshot) {
      incoming.add(snapshot);
      // A first look as soon as something has been learnt; while a slider moves, whole runs only.
      if (incoming !== this.run && !this.held && (snapshot.epoch > 0 || !this.run)) this.run = incoming;
    }
    if (done !== undefined) {
      incoming.milliseconds = done;
      this.run = incoming;
      this.dispatchEvent(new CustomEvent("trained", { detail: { milliseconds: done } }));
    }
    this.draw();
  }

  // The epoch that is shown: the one asked for, as far as training has come.
  get index() {
    return this.run ? Math.min(this.state.epoch ?? Infinity, this.run.last) : -1;
  }

  get view() {
    const training = this.incoming && this.incoming !== this.run && this.incoming.last >= 0;
    return { run: this.run, index: this.index, token: this.token, hovered: this.hovered, ink: this.inks, training };
  }

  // What a picture shows. While a slider moves, the run at hand stays, and the coming one grows over it: its lines at
  // once; and where there is only one picture, whatever this shows, as soon as it keeps the reader waiting.
  viewOf(picture) {
    const { view, run, incoming } = this;
    const grows = GROWING.includes(picture) || (this.compact && performance.now() - incoming?.begun > PATIENCE);
    return view.training && grows ? { ...view, run: incoming, ghost: run, index: incoming.last } : view;
  }

  get token() {
    if (!this.run) return null;
    const { kinds } = this.run.problem;
    return this.state.token !== null && this.state.token < kinds.length ? this.state.token : kinds.indexOf(1);
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.drawNow();
    });
  }

  drawNow() {
    this.tell();
    if (this.run && this.run.last >= 0 && this.clientWidth) this.redraw();
  }

  // What went wrong, in words; empty if nothing did.
  get trouble() {
    if (this.warning || !this.run || this.run.diverged === null) return this.warning;
    const { diverged, config } = this.run;
    return `At epoch ${diverged} the numbers grew beyond all bounds: lower the learning rate${config.penalty ? " or the penalty" : ""}, or raise λ.`;
  }

  tell() {
    const { trouble } = this;
    this.statusLine.textContent = trouble || this.progress;
    this.statusLine.classList.toggle("alarm", trouble !== "");
    this.statusLine.hidden = this.statusLine.textContent === "";
  }

  warn(text) {
    this.warning = text;
    this.say(text);
    this.draw();
  }

  // Paper is white and does not wait: a lab that nobody has scrolled to is trained now.
  beforePrint() {
    if (this.run?.milliseconds == null) {
      this.held = false;
      host.trainNow({ lab: this.name, job: ++this.job, config: this.config });
    }
    this.recolour("light");
    this.drawNow();
  }

  recolour(scheme = darkPage() ? "dark" : "light") {
    this.dataset.scheme = scheme;
    const style = getComputedStyle(this);
    this.inks = Object.fromEntries(INKS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.draw();
  }

  get numbers() {
    return this.run && this.run.last >= 0 ? numbers(this.run, this.index) : null;
  }

  remember() {
    this.onstate?.(difference(this.state, this.base), this.state);
    if (this.hasAttribute("no-address")) return;
    shared.delete(this.name);
    shared = new Map([[this.name, difference(this.state, this.base)], ...[...shared].map(([name, part]) => [name, part])]);
    clearTimeout(writing);
    writing = setTimeout(writeNow, 200);
  }

  // The page's address, with what its labs show at this moment.
  link() {
    this.remember();
    writeNow();
    return location.href;
  }

  readAddress() {
    const wanted = shared.get(this.name), { spoilt } = shared;
    if (wanted) this.change(settle(wanted, this.base));
    if (wanted || spoilt) this.warn(misfits(wanted ?? {}, this.base) || spoilt);
  }
}
