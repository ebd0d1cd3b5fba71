{
  const box = document.currentScript?.parentElement ?? [...document.querySelectorAll(".uaftc-frames")].at(-1);
  const frames = [...box.querySelectorAll(".frame")];
  const slider = box.querySelector("input");
  slider.addEventListener("input", () => {
    frames.forEach((frame, i) => { frame.hidden = i !== slider.valueAsNumber; });
    const says = frames[slider.valueAsNumber].dataset.says;
    slider.setAttribute("aria-valuetext", says.split(":")[0]);
    box.querySelector(".caption").textContent = says;
  });
}
