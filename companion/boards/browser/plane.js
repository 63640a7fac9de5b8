// The page's elements, and a plane with axes in which shapes are drawn in its own units.
(() => {
  const WIDTH = 480, PAD = 34, { text } = companionBoards.numbers;
  const SVG = new Set(["svg", "g", "path", "line", "text", "circle", "rect"]);

  // An element with attributes, listeners (functions) and children.
  const make = (tag, attributes = {}, ...children) => {
    const space = SVG.has(tag) && "http://www.w3.org/2000/svg";
    const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
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

  const rounded = (t) => Math.round(100 * t) / 100; // of a pixel

  // `equal`: a unit has the same length in both directions. `bare`: the plane has no axes.
  const makePlane = (attributes, { label, equal, bare }) => {
    const [axes, back, front] = ["axes", "curves", "points"].map((name) => make("g", { class: `board-${name}` }));
    for (const hidden of [axes, back]) hidden.setAttribute("aria-hidden", "true");
    const svg = make("svg", { ...attributes, "aria-label": label }, axes, back, front), plane = { svg, front };

    plane.show = ([left, right, bottom, top]) => {
      const wide = WIDTH - 2 * PAD, high = equal ? (wide * (top - bottom)) / (right - left) : 362;
      plane.x = (t) => rounded(PAD + ((t - left) / (right - left)) * wide);
      plane.y = (t) => rounded(PAD + ((top - t) / (top - bottom)) * high);
      plane.at = ({ clientX, clientY }) => {
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
        return [left + ((x - PAD) / wide) * (right - left), top - ((y - PAD) / high) * (top - bottom)];
      };
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${high + 2 * PAD}`);
      if (bare) return;
      const [x1, x2, y1, y2] = [plane.x(left), plane.x(right), plane.y(bottom), plane.y(top)];
      const tick = (words, name, x, y, line) => [make("line", line), make("text", { x, y, class: name }, text(words))];
      const below = (t, x) => tick(t, "below", x, y1 + 16, { x1: x, x2: x, y1, y2 });
      const beside = (t, y) => tick(t, "beside", x1 - 6, y + 4, { x1, x2, y1: y, y2: y });
      axes.replaceChildren(...ticks(left, right).flatMap((t) => below(t, plane.x(t))),
        ...ticks(bottom, top).flatMap((t) => beside(t, plane.y(t))));
    };

    // A shape is [class, lines, opacity], or ["text", place, words]. Arrows get their heads here.
    const place = ([x, y]) => `${plane.x(x)} ${plane.y(y)}`;
    const path = (lines) => lines.map((line) => `M${line.map(place).join("L")}`).join("");
    const head = ([from, to]) => {
      const [x, y] = [plane.x(to[0]), plane.y(to[1])], dx = x - plane.x(from[0]), dy = y - plane.y(from[1]);
      const part = Math.min(0.3, 8 / Math.hypot(dx, dy));
      const end = (turn) => [x - part * (dx - turn * dy), y - part * (dy + turn * dx)];
      return `M${end(0.5)}L${[x, y]}L${end(-0.5)}`;
    };
    const drawn = ([name, what, last = 1]) => {
      if (name === "text") return make("text", { x: plane.x(what[0]), y: plane.y(what[1]) }, last);
      const heads = name === "arrow" ? what.map(head).join("") : "";
      return make("path", { class: name, d: path(what) + heads, "fill-opacity": last });
    };
    plane.draw = (shapes) => back.replaceChildren(...shapes.map(drawn));
    return plane;
  };

  Object.assign(companionBoards, { make, niceStep, makePlane });
})();
