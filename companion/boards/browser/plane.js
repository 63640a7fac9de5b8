// The page's elements, and a plane with axes in which shapes are drawn in its own units.
(() => {
  const WIDTH = 480, PAD = 34, { numbers } = companionBoards;
  const SVG = new Set(["svg", "g", "path", "line", "text", "circle", "rect"]);

  // An element with attributes, listeners (functions) and those of the children that there are.
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElementNS(`http://www.w3.org/${SVG.has(tag) ? "2000/svg" : "1999/xhtml"}`, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children.filter(Boolean));
    return made;
  };

  // 1, 2 or 5 times a power of ten: about five of them fill the length.
  const niceStep = (length) => {
    const power = 10 ** Math.floor(Math.log10(length / 5));
    return power * ([1, 2, 5].find((m) => m * power >= length / 5) ?? 10);
  };
  const ticks = (low, high) => {
    const step = niceStep(high - low), first = Math.ceil(low / step), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  };

  // `equal`: a unit has the same length in both directions. `bare`: the plane has no axes.
  const makePlane = (attributes, { label, limits: [left, right, bottom, top], equal, bare, shapes = [] }) => {
    const wide = WIDTH - 2 * PAD, high = equal ? (wide * (top - bottom)) / (right - left) : 362;
    const atX = (t) => Math.round(100 * (PAD + ((t - left) / (right - left)) * wide)) / 100; // of a pixel
    const atY = (t) => Math.round(100 * (PAD + ((top - t) / (top - bottom)) * high)) / 100;
    const [axes, back, front] = ["axes", "curves", "points"].map((name) => make("g", { class: `board-${name}` }));
    for (const hidden of [axes, back]) hidden.setAttribute("aria-hidden", "true");
    const size = { viewBox: `0 0 ${WIDTH} ${high + 2 * PAD}`, "aria-label": label };
    const svg = make("svg", { ...attributes, ...size }, axes, back, front);
    const at = ({ clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [left + ((x - PAD) / wide) * (right - left), top - ((y - PAD) / high) * (top - bottom)];
    };

    const tick = (t, line, text) => axes.append(make("line", line), make("text", text, numbers.text(t)));
    const [x1, x2, y1, y2] = [atX(left), atX(right), atY(bottom), atY(top)];
    for (const t of bare ? [] : ticks(left, right)) {
      tick(t, { x1: atX(t), x2: atX(t), y1, y2 }, { x: atX(t), y: y1, dy: "1.2em", "text-anchor": "middle" });
    }
    for (const t of bare ? [] : ticks(bottom, top)) {
      tick(t, { x1, x2, y1: atY(t), y2: atY(t) }, { x: x1 - 4, y: atY(t), dy: "0.3em", "text-anchor": "end" });
    }

    // A shape is [class, lines, opacity], or ["text", place, words]. Arrows get their heads here.
    const place = ([x, y]) => [atX(x), atY(y)];
    const path = (lines) => lines.map((line) => `M${line.map(place).join("L")}`).join("");
    const head = (arrow) => {
      const [[x0, y0], [x, y]] = arrow.map(place), dx = x - x0, dy = y - y0;
      const part = Math.min(0.3, 8 / Math.hypot(dx, dy));
      const end = (turn) => [x - part * (dx - turn * dy), y - part * (dy + turn * dx)];
      return `M${end(0.5)}L${[x, y]}L${end(-0.5)}`;
    };
    const drawn = ([name, what, last = 1]) => {
      if (name === "text") return make("text", { x: atX(what[0]), y: atY(what[1]) }, last);
      const heads = name === "arrow" ? what.map(head).join("") : "";
      return make("path", { class: name, d: path(what) + heads, "fill-opacity": last });
    };
    const draw = (what) => back.replaceChildren(...what.map(drawn));
    draw(shapes);
    return { svg, front, at, place, draw };
  };

  Object.assign(companionBoards, { make, niceStep, makePlane });
})();
