// What the figure shows, in words, whatever the reader has set.
import { number, percent } from "./draw.js";

const SUFFERS = 0.01;  // below what the positive and negative words of the sentences give away

// From the numbers of one moment of a run.
export function sentence({ lam, upper, epoch, epochs, accuracy, noise, a_positive, a_negative, a_neutral }) {
  const within = lam < upper, over = epoch === epochs;
  const band = upper === null ? ". No band here: its formula needs SGD without a penalty, classes of equal size, and noise below 50 %" :
    ` lies ${within ? "within" : "above"} the green band (${upper < Infinity ? `up to ${number(upper)}` : "no upper end"})`;
  const [positive, negative] = [a_positive, a_negative].map((mean) => (mean > a_neutral ? "above" : "below"));
  const when = over ? "After training" : epoch ? `After epoch ${epoch} of ${epochs}` : "Before training";
  const outcome = positive === negative ? `positive and negative words are ${positive}` : `positive words are ${positive} and negative words ${negative}`;
  const agrees = within === (positive === "above" && negative === "above"), predicted = within ? "both above" : "positive or negative words below";
  const compared = !over || upper === null ? "" : agrees ? ", as the formula predicts" : `, but the formula predicts ${predicted}`;
  const most = 1 - noise, suffers = over && accuracy < most - SUFFERS;
  const right = suffers ? ` suffers: ${percent(accuracy)}, where ${percent(most).replace(".0", "")} is possible` : `: ${percent(accuracy)}`;
  return `λ = ${number(lam)}${band}. ${when}, ${outcome} neutral words in mean attention${compared}. Accuracy${right}.`;
}
