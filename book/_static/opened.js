// What has been opened may be wider than its place: the theme, which lets Tab reach what scrolls, asks at every resize.
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
