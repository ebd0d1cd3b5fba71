// The same runs were made by PyTorch in float64; here the browser's own numbers are held against them.
import * as host from "./host.js";
import { h } from "./elements.js";
import { number } from "./draw.js";
import { PURPOSES, sign, streamKey } from "./random.js";
import { Run } from "./run.js";
import { configOf, settle } from "./state.js";

const AGREES = 1e-10;

// Sums over all types, each with random signs of its own; tests/lab_reference.py has the same signs.
function sums(values, count) {
  return Array.from({ length: count }, (_, k) => {
    const key = streamKey(k, PURPOSES.sign);
    return values.reduce((sum, value, w) => sum + sign(key, w) * value, 0);
  });
}

// The length of the difference of two vectors, estimated from such sums of either: the mean square of a sum with
// random signs is the sum of squares. What is wrong with one number alone is found in full.
const apart = (ours, theirs) => Math.hypot(...ours.map((sum, k) => sum - theirs[k])) / Math.sqrt(theirs.length);

// The largest difference to the reference over all epochs, of the loss and of the scores of all types.
export function distance(run, { loss, attention, polarity }) {
  const far = run.snapshots.map((shot, k) => Math.max(
    k ? Math.abs(shot.loss - loss[k]) : 0,
    apart(sums(shot.a, attention[k].length), attention[k]), apart(sums(shot.s, polarity[k].length), polarity[k]),
  ));
  return run.last === run.config.epochs ? Math.max(...far) : NaN;
}

export function buildCheck(lab) {
  const says = h("p", { class: "caption" }), button = h("button", { type: "button" }, "Check now");
  const found = new Map(), waiting = new Set();
  let trouble = "";
  const tell = () => {
    const parts = [...found].map(([lam, value]) => `${number(value)} at λ = ${number(lam)}`);
    says.classList.toggle("alarm", trouble !== "" || [...found.values()].some((value) => !(value < AGREES)));
    says.textContent = trouble || (parts.length
      ? `Largest distance between your browser and PyTorch in float64: ${parts.join(", ")}, over the loss and the scores a and s of all 1,100 words in all ${REFERENCE[0].loss.length - 1} epochs. The scores of an epoch are compared together, through ${REFERENCE[0].attention[0].length} sums over the types with random signs: the mean square of their differences estimates the sum of all squared differences.`
      : "PyTorch in float64 has trained the same model from the same initialisation on the same batches.");
  };
  tell();
  // Where the state is one that PyTorch has trained, the run at hand is the check.
  lab.checkDone = () => {
    const { run } = lab;
    if (!run || run.milliseconds === null) return;
    const key = JSON.stringify(run.config), reference = REFERENCE.find(({ state }) => JSON.stringify(configOf(settle(state))) === key);
    if (!reference || found.get(run.config.lam) !== undefined) return;
    found.set(run.config.lam, distance(run, reference));
    tell();
  };
  button.addEventListener("click", () => {
    button.disabled = true;
    trouble = "";
    REFERENCE.forEach((reference) => {
      const config = configOf(settle(reference.state)), name = `${lab.name} check ${config.lam}`;
      let run = null;
      waiting.add(name);
      host.register(name, ({ problem, snapshot, done, failed, lost }) => {
        if (!waiting.has(name)) return;
        if (failed || lost) trouble = `The check was not finished${failed ? ` (${failed})` : ""}: try it again.`;
        if (problem) { run = new Run(0, config); run.problem = problem; }
        if (snapshot) run.add(snapshot);
        if (done !== undefined) found.set(config.lam, distance(run, reference));
        else if (!failed && !lost) return;
        waiting.delete(name);
        button.disabled = waiting.size > 0;
        tell();
      });
      host.train({ lab: name, job: 0, config, at_once: false });
    });
  });
  return h("div", { class: "check" }, h("h3", {}, "Is this the paper's model?"), h("div", { class: "row" }, says, button));
}
