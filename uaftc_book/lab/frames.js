{
  const box = document.currentScript?.parentElement ?? [...document.querySelectorAll(".uaftc-frames")].at(-1);
  const frames = [...box.querySelectorAll(".frame")];
  const slider = box.querySelector("input");
  const show = () => {
    frames.forEach((frame, i) => { frame.hidden = i !== slider.valueAsNumber; });
    const says = frames[slider.valueAsNumber].dataset.says;
    slider.setAttribute("aria-valuetext", says.split(":")[0]);
    box.querySelector(".caption").textContent = says;
  };
  slider.addEventListener("input", show);
  // A λ that the text names is a button: it moves the slider that stands nearest to it (on a page with a lab, that).
  addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-set]");
    const away = (one) => Math.abs(one.getBoundingClientRect().top - button.getBoundingClientRect().top);
    const sliders = [...document.querySelectorAll(".uaftc-frames:has([data-set])")];
    const near = button && !document.querySelector("uaftc-lab") && away(box) === Math.min(...sliders.map(away));
    const stop = near ? frames.findIndex(({ dataset }) => dataset.set === button.dataset.set) : -1;
    if (stop < 0) return;
    slider.value = stop;
    show();
    box.scrollIntoView({ block: box.clientHeight > innerHeight ? "start" : "nearest" });
  });
}
