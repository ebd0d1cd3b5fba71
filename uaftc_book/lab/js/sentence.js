// What the figure shows, in words, whatever the reader has set.
import { number, percent } from "./draw.js";

const SUFFERS = 0.01;  // below what a reader of the positive and negative words alone could reach

// From the numbers of one moment of a run.
export function sentence({ lam, upper, epoch, epochs, accuracy, noise, a_positive, a_negative, a_neutral }) {
  const within = lam < upper, over = epoch === epochs, after = epoch ? `After epoch ${epoch} of ${epochs}` : "Before training";
  const place = upper === null ? "; its band cannot be computed here (the formula needs SGD, no penalty, classes of equal size, little noise)" :
    ` lies ${within ? "within" : "above"} the band, which ${upper < Infinity ? `ends at ${number(upper)}` : "has no upper end here"}`;
  const [positive, negative] = [a_positive, a_negative].map((mean) => (mean > a_neutral ? "above" : "below")), wanted = positive === "above" && negative === "above";
  const where = positive === negative ? `positive and negative words both lie ${positive} neutral words` : `positive words lie ${positive} and negative words ${negative} neutral words`;
  const expected = `the formula predicts ${within ? "both above" : "that positive or negative words end below"}`;
  const compared = !over || upper === null ? "" : within === wanted ? ", as the formula predicts" : `, though ${expected}`;
  const most = 1 - noise, suffers = over && accuracy < most - SUFFERS;
  return `λ = ${number(lam)}${place}. ${after}, ${where} in mean attention${compared}. ` +
    (suffers ? `Accuracy suffers: ${percent(accuracy)} of the sentences, where positive and negative words give away ${percent(most)}.` : `Accuracy: ${percent(accuracy)}.`);
}
