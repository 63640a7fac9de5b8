// The page's elements, and a plane with axes in which shapes are drawn in its own units.
(() => {
  const [WIDTH, PAD] = [480, 34];
  const { text } = companionBoards.numbers;
  const SVG = new Set(["svg", "g", "path", "line", "text", "circle", "rect"]);

  // An element with attributes, listeners (functions) and children.
  const make = (tag, attributes = {}, ...children) => {
    const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made[name] = value;
      else if (typeof value === "boolean") made.toggleAttribute(name, value);
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
    const width = niceStep(high - low), first = Math.ceil(low / width), count = Math.floor(high / width + 1e-9) - first + 1;
    return Array.from({ length: count }, (_, k) => (first + k) * width);
  };

  // `equal`: a unit has the same length in both directions. `bare`: the plane has no axes.
  const makePlane = (attributes, equal, bare = false) => {
    const [axes, back, front] = ["axes", "curves", "points"].map((name) => make("g", { class: `board-${name}` }));
    for (const hidden of [axes, back]) hidden.setAttribute("aria-hidden", "true");
    const svg = make("svg", attributes, axes, back, front), plane = { svg, front };

    plane.show = (limits) => {
      if (String(limits) === plane.limits) return;
      plane.limits = String(limits);
      const [left, right, bottom, top] = limits, wide = WIDTH - 2 * PAD;
      const high = equal ? (wide * (top - bottom)) / (right - left) : 362;
      plane.x = (x) => +(PAD + ((x - left) / (right - left)) * wide).toFixed(2);
      plane.y = (y) => +(PAD + ((top - y) / (top - bottom)) * high).toFixed(2);
      plane.at = ({ clientX, clientY }) => {
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
        return [left + ((x - PAD) / wide) * (right - left), top - ((y - PAD) / high) * (top - bottom)];
      };
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${high + 2 * PAD}`);
      const [x1, x2, y1, y2] = [plane.x(left), plane.x(right), plane.y(bottom), plane.y(top)];
      axes.replaceChildren(...(bare ? [] : [
        ...ticks(left, right).map(plane.x).map((x) => make("line", { x1: x, x2: x, y1, y2 })),
        ...ticks(bottom, top).map(plane.y).map((y) => make("line", { x1, x2, y1: y, y2: y })),
        ...ticks(left, right).map((t) => make("text", { x: plane.x(t), y: y1 + 16, "text-anchor": "middle" }, text(t))),
        ...ticks(bottom, top).map((t) => make("text", { x: PAD - 6, y: plane.y(t) + 4, "text-anchor": "end" }, text(t))),
      ]));
    };

    // Lines, arrows, rectangles (x, y, u, v) and dots as data of a path.
    const place = ([x, y]) => `${plane.x(x)} ${plane.y(y)}`, path = (lines) => lines.map((line) => "M" + line.map(place).join("L")).join("");
    const head = ([from, to]) => {
      const [x, y] = [plane.x(to[0]), plane.y(to[1])], [dx, dy] = [x - plane.x(from[0]), y - plane.y(from[1])];
      const part = Math.min(0.3, 8 / Math.hypot(dx, dy)), end = (turn) => [x - part * (dx - turn * dy), y - part * (dy + turn * dx)];
      return `M${end(0.5)}L${[x, y]}L${end(-0.5)}`;
    };
    const DATA = {
      path, arrows: (lines) => path(lines) + lines.map(head).join(""),
      tiles: (found) => path(found.map(([x, y, u, v]) => [[x, y], [u, y], [u, v], [x, v]])),
      dots: (found, name) => found.map((at) => `M${place(at)}${name === "red" ? "m-3.5-3.5h7v7h-7z" : "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"}`).join(""),
    };
    plane.draw = (shapes) => back.replaceChildren(...shapes.map(([kind, name, what, last = 1]) =>
      kind === "text" ? make("text", { x: plane.x(what[0]), y: plane.y(what[1]) }, last)
        : make("path", { class: `${name} ${kind}`, d: DATA[kind](what, name), "fill-opacity": last })));
    return plane;
  };

  Object.assign(companionBoards, { make, niceStep, makePlane });
})();
