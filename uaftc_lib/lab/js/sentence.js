// A sentence that the reader types or picks, as a heat map of weights and contributions.
import { h } from "./controls.js";
import { number, percent } from "./draw.js";
import { read } from "./run.js";
import { idOf, wordOf } from "./words.js";

function wordsOf(lab, instance) {
  const { tokens, offsets } = lab.run.problem.train;
  return [...tokens.subarray(offsets[instance], offsets[instance + 1])].map(wordOf).join(" ");
}

export function buildSentence(lab) {
  const field = h("input", { type: "text", class: "typing", "aria-label": "a sentence to read", spellcheck: "false", autocomplete: "off" });
  const map = h("p", { class: "map" }), caption = h("p", { class: "caption" });
  let picks = 0;
  field.addEventListener("input", () => lab.change({ sentence: field.value }));
  const pick = () => {
    const { labels } = lab.run?.problem.train ?? {};
    if (labels) lab.change({ sentence: wordsOf(lab, (7919 * ++picks + 13) % labels.length) });
  };
  lab.sentenceParts = { field, map, caption };
  lab.placeSentence = () => { if (lab.root.activeElement !== field) field.value = lab.state.sentence; };
  return h("div", { class: "sentence-box" }, h("h3", {}, "A sentence, read by the model"),
    h("div", { class: "row" }, field, h("button", { type: "button", onclick: pick }, "Another one")), map, caption);
}

export function drawSentence(lab) {
  const { field, map, caption } = lab.sentenceParts, shot = lab.run.snapshots[lab.index];
  const text = lab.state.sentence || wordsOf(lab, 0);
  field.placeholder = wordsOf(lab, 0);
  const words = text.trim().split(/\s+/).slice(0, 200), ids = words.map(idOf);
  const known = ids.filter((id) => id !== null);
  if (!known.length) {
    map.replaceChildren();
    caption.textContent = `None of these words is known here. Try: ${wordsOf(lab, 0)}`;
    return;
  }
  const { alphas, shares, polarity } = read(shot, known);
  const largest = Math.max(...alphas), strongest = Math.max(...shares.map(Math.abs));
  let at = -1;
  map.replaceChildren(...words.map((word, i) => {
    if (ids[i] === null) return h("span", { class: "word unknown" }, h("span", {}, word), h("small", {}, "unknown"));
    at++;
    const bar = h("span", { class: `share ${shares[at] > 0 ? "positive" : "negative"}` });
    bar.style.width = `${(100 * Math.abs(shares[at])) / strongest}%`;
    const tile = h("span", { class: "word" }, h("span", {}, word), h("small", {}, `α ${number(Number(alphas[at].toPrecision(2)))}`), h("small", {}, `αs ${number(Number(shares[at].toPrecision(2)))}`), bar);
    tile.style.setProperty("--weight", String(alphas[at] / largest));
    return tile;
  }));
  const missing = ids.length - known.length;
  caption.textContent = `Logit ${number(polarity)}: positive with probability ${percent(1 / (1 + Math.exp(-polarity)))}. The stronger a word's shade, the more weight α it has; the bar is its contribution α·s, blue to positive, orange to negative, and all of them add up to the logit.${missing ? ` Unknown words (${missing}) are left out.` : ""}`;
}
