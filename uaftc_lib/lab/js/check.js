// The same runs were made by PyTorch in float64; here the browser's own numbers are held against them.
import * as host from "./host.js";
import { h } from "./controls.js";
import { number } from "./draw.js";
import { Run } from "./run.js";
import { CONTROLS, settle } from "./state.js";

function configOf(state) {
  const whole = settle(state);
  return Object.fromEntries([...Object.keys(CONTROLS).map((name) => [name, whole[name]]), ["decay", 0]]);
}

// The largest difference to the reference over all epochs: losses, and mean scores of each kind.
export function distance(run, reference) {
  let largest = 0;
  run.snapshots.forEach((shot, k) => {
    const ours = [...(k ? [shot.loss] : []), ...shot.aMeans, ...shot.sMeans];
    const theirs = [...(k ? [reference.loss[k]] : []), ...reference.attention[k], ...reference.polarity[k]];
    ours.forEach((value, i) => { largest = Math.max(largest, Math.abs(value - theirs[i])); });
  });
  return run.last === run.config.epochs ? largest : NaN;
}

export function buildCheck(lab) {
  const says = h("p", { class: "caption" }), button = h("button", { type: "button" }, "Check now");
  const found = new Map(), waiting = new Set();
  let trouble = "";
  const tell = () => {
    const parts = [...found].map(([lam, value]) => `${number(value)} at λ = ${number(lam)}`);
    says.textContent = trouble || (parts.length
      ? `Largest difference between your browser and PyTorch in float64, over the losses and mean scores of all ${REFERENCE[0].loss.length - 1} epochs: ${parts.join(", ")}.`
      : "PyTorch in float64 has trained the same model from the same start on the same batches.");
  };
  tell();
  // Where the state is one that PyTorch has trained, the run at hand is the check.
  lab.checkDone = () => {
    const { run } = lab;
    if (!run || run.milliseconds === null) return;
    const key = JSON.stringify(run.config), reference = REFERENCE.find(({ state }) => JSON.stringify(configOf(state)) === key);
    if (!reference || found.get(run.config.lam) !== undefined) return;
    found.set(run.config.lam, distance(run, reference));
    tell();
  };
  button.addEventListener("click", () => {
    button.disabled = true;
    trouble = "";
    REFERENCE.forEach((reference) => {
      const config = configOf(reference.state), name = `${lab.name} check ${config.lam}`;
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
  return h("div", { class: "check" }, h("h4", {}, "Is this the paper's model?"), h("div", { class: "row" }, says, button));
}
