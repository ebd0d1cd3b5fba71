// What live drawings in SVG share: texts, and axes with a grid.
export const f1 = (value) => value.toFixed(1);

export function text(x, y, words, anchor = "start", kind = "") {
  return `<text x="${f1(x)}" y="${f1(y)}" text-anchor="${anchor}"${kind && ` class="${kind}"`}>${words}</text>`;
}

// Of each axis its scale, the values that have a line, and its name; `written` makes words of a value.
export function axes({ left, right, top, bottom }, [x, xs, xName], [y, ys, yName], written) {
  const line = (path) => `<path class="grid" d="${path}"/>`, named = (...where) => text(...where, "label");
  const across = xs.map((value) => line(`M${f1(x(value))} ${top}V${bottom}`) + text(x(value), bottom + 15, written(value), "middle"));
  const up = ys.map((value) => line(`M${left} ${f1(y(value))}H${right}`) + text(left - 6, y(value) + 4.5, written(value), "end"));
  return [...across, ...up, named(right, bottom + 33, `${xName} →`, "end"), named(2, 13, `↑ ${yName}`, "start")].join("");
}
