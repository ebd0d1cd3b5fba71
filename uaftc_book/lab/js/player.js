// Time that runs at the press of a button: in each frame `turn` hears how many milliseconds have passed since `begin`,
// until it says that all is over, or the button is pressed again, or what is returned is called.
export function player(button, begin, turn) {
  let playing = null;
  const stop = () => { playing = null; button.textContent = "Play"; };
  button.addEventListener("click", () => {
    if (playing) { stop(); return; }
    const token = (playing = {}), begun = performance.now();
    begin();
    button.textContent = "Pause";
    const frame = () => {
      if (playing !== token) return;
      if (turn(performance.now() - begun)) stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  return stop;
}
