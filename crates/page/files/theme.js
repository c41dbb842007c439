// Chooses the colours before anything is drawn, so that nothing flashes.
(() => {
  const root = document.documentElement;
  const asked = new URLSearchParams(location.search);
  let kept = null;
  try {
    kept = localStorage.getItem("tokenwood.theme");
  } catch {
    // A browser may forbid storage: then the system decides.
  }
  const theme = asked.get("theme") ?? kept;
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  if (asked.get("embed") === "1") root.dataset.embed = "";
  // On some systems system-ui is the wide DejaVu Sans, for which rows have no room.
  const pen = document.createElement("canvas").getContext("2d");
  const width = (font) => {
    pen.font = `40px ${font}`;
    return pen.measureText("render/frames 0123 waiting").width;
  };
  if (width("system-ui") === width('"DejaVu Sans"') && width('"DejaVu Sans"') !== width("serif")) root.dataset.wide = "";
})();
