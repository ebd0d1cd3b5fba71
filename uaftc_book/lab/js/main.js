// Entry: an element for pages, and a widget for live kernels.
import { UaftcLab } from "./full.js";
import { settle } from "./state.js";

if (!customElements.get("uaftc-lab")) {
  customElements.define("uaftc-lab", UaftcLab);
}

function render({ model, el }) {
  const lab = document.createElement("uaftc-lab");
  for (const name of ["name", "mode", "figure", "text", "notebook", "parameter", "least"]) {
    if (model.get(name)) lab.setAttribute(name, model.get(name));
  }
  lab.setAttribute("state", JSON.stringify(model.get("state")));
  lab.setAttribute("no-address", "");
  let from = null;
  lab.onstate = (_, state) => {
    from = JSON.stringify(state);
    model.set("state", state);
    model.save_changes();
  };
  const changed = () => {
    const state = model.get("state");
    if (JSON.stringify(state) !== from) lab.change(settle(state));
  };
  model.on("change:state", changed);
  lab.addEventListener("trained", () => { model.set("numbers", lab.numbers); model.save_changes(); });
  el.append(lab);
  return () => { model.off("change:state", changed); lab.remove(); };
}

export default { render };
