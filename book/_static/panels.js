// On a phone, the panels of a picture stand one below the other: each is a window on the same picture.
//
// A picture says in `data-panels` at which columns of pixels it may be cut: what stands above each other stays together,
// and pictures that follow each other stand in one row. The text calls panels left and right, and so do the words above
// them.
(() => {
  "use strict";

  const narrow = matchMedia("(max-width: 600px)");
  const SMALL = 260;  // panels of fewer pixels, if all are, stand two in a row
  const PLACES = { 2: ["left", "right"], 3: ["left", "middle", "right"] };

  function stackPanels(image) {
    if (!narrow.matches || !image.dataset.panels || image.closest(".panels")) return;
    const [width, height] = ["width", "height"].map((name) => Number(image.getAttribute(name)));
    const cuts = [0, ...image.dataset.panels.split(" ").map(Number), width];
    const small = cuts.slice(1).every((end, i) => end - cuts[i] < SMALL);
    const all = document.createElement("span");
    all.className = "panels";
    image.before(all);
    cuts.slice(1).forEach((end, i) => {
      const part = end - cuts[i];
      const panel = document.createElement("span");
      panel.className = "panel";
      panel.style.cssText = `max-width: ${part}px; width: ${small ? "calc(50% - 0.125rem)" : "100%"}`;
      const place = document.createElement("span");
      place.className = "place";
      place.setAttribute("aria-hidden", "true");  // the description of the picture says it
      place.textContent = PLACES[cuts.length - 1]?.[i] ?? "";
      const view = document.createElement("span");
      view.className = "view";
      view.style.aspectRatio = `${part} / ${height}`;
      const seen = i === 0 ? image : image.cloneNode();
      if (i > 0) seen.alt = "";
      seen.style.setProperty("--width", `${(100 * width) / part}%`);
      seen.style.setProperty("--left", `${(-100 * cuts[i]) / part}%`);
      view.append(seen);
      panel.append(place, view);
      all.append(panel);
    });
  }

  function stackAll() {
    document.querySelectorAll(".bd-article img[data-panels]").forEach(stackPanels);
  }

  window.stackPanels = stackPanels;
  document.addEventListener("DOMContentLoaded", stackAll);
  narrow.addEventListener("change", stackAll);
})();
