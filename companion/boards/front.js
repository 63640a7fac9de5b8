// A board of points: drag them, add and remove them; a machine is fitted again and says what to draw.
//
// The model behind it is a kernel's (anywidget) or, in the rendered page, that of page.js. It owns `result` (multipliers,
// slacks, places, curves); this file owns `points`, `selected`, `program` and `values`. Nothing is loaded from anywhere.
(() => {

const NAMESPACE = "http://www.w3.org/2000/svg"; // a name, not a request
const [WIDTH, HEIGHT, PAD] = [480, 430, 34];
const COLOUR = { 1: "blue", "-1": "red" };

const node = (tag, attributes = {}, parent = null, text = "") => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  parent?.append(made);
  return made;
};

const shape = (tag, attributes, parent) => {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
};

// 1, 2 or 5 times a power of ten: about five of them fill the length.
const niceStep = (length) => {
  const power = 10 ** Math.floor(Math.log10(length / 5));
  return power * ([1, 2, 5].find((m) => m * power >= length / 5) ?? 10);
};

const short = (x) => (x === 0 ? "0" : Math.abs(x) < 1e-3 || Math.abs(x) >= 1e4 ? x.toExponential(1) : String(+x.toFixed(4)));

function render({ model, el }) {
  const get = (name) => model.get(name);
  const [left, right, bottom, top] = get("limits");
  const toX = (x) => PAD + ((x - left) / (right - left)) * (WIDTH - 2 * PAD);
  const toY = (y) => HEIGHT - PAD - ((y - bottom) / (top - bottom)) * (HEIGHT - 2 * PAD);
  const step = niceStep(Math.min(right - left, top - bottom)) / 10;
  const round = (x) => +(Math.round(x / (step / 10)) * (step / 10)).toFixed(10);
  const within = (x, low, high) => Math.min(Math.max(round(x), low), high);
  const id = `board-${Math.random().toString(36).slice(2)}`;

  // -- the parts of the page

  const root = node("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" }, el);
  const { blue, red } = get("colors");
  root.style.setProperty("--board-blue", blue);
  root.style.setProperty("--board-red", red);

  const controls = node("div", { class: "board-controls" }, root);
  const choice = node("label", {}, controls, "program ");
  const select = node("select", {}, choice);
  for (const { name } of get("programs")) node("option", { value: name }, select, name);
  if (get("programs").length < 2) choice.hidden = true;
  const sliders = node("span", { class: "board-sliders" }, controls);
  const presets = get("presets") ?? {};
  if (Object.keys(presets).length) {
    const preset = node("select", {}, node("label", {}, controls, "points "));
    for (const name of ["choose", ...Object.keys(presets)]) node("option", { value: name }, preset, name);
    preset.addEventListener("change", () => {
      if (presets[preset.value]) send({ points: presets[preset.value], selected: 0 });
      preset.value = "choose";
    });
  }

  const main = node("div", { class: "board-main" }, root);
  const figure = node("div", { class: "board-figure" }, main);
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, tabindex: "0", role: "application", "aria-roledescription": "board of points",
    "aria-label": "Points of two classes and the fitted hyperplanes", "aria-describedby": `${id}-help`,
  }, figure);
  const axes = shape("g", { class: "board-axes", "aria-hidden": "true" }, svg);
  const curves = shape("g", { class: "board-curves", "aria-hidden": "true" }, svg);
  const dots = shape("g", { class: "board-points" }, svg);

  const buttons = node("div", { class: "board-buttons" }, figure);
  const button = (text, keys, act) => {
    const made = node("button", { type: "button", "aria-keyshortcuts": keys }, buttons, text);
    made.addEventListener("click", act);
    return made;
  };
  button("Add blue point", "a", () => add(1));
  button("Add red point", "b", () => add(-1));
  const removal = button("Remove point", "Delete", () => remove());
  button("Start again", "Escape", () => restart());
  node("p", { class: "board-help", id: `${id}-help` }, figure,
    "Drag a point, or double-click to add a blue one (with Shift: a red one). Keys: n and p choose the next and the " +
    "previous point, the arrows move it (with Shift: far), a adds a blue and b a red point, Delete removes, Escape starts again.");

  const side = node("div", { class: "board-side" }, main);
  const status = node("p", { class: "board-status", role: "status", "aria-live": "polite" }, side);
  const facts = node("p", { class: "board-facts" }, side);
  const table = node("table", {}, side);
  const head = node("tr", {}, node("thead", {}, table));
  const body = node("tbody", {}, table);
  for (const title of ["point", "x₁", "x₂", "multiplier", "slack", "place"]) node("th", { scope: "col" }, head, title);

  // -- changes

  const send = (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const chosen = () => Math.min(get("selected"), get("points").length - 1);
  const move = (i, x, y) =>
    send({ points: get("points").map((p, k) => (k === i ? [within(x, left, right), within(y, bottom, top), p[2]] : p)) });
  let cursor = [(left + right) / 2, (bottom + top) / 2];
  const add = (sign) => {
    const [x, y] = cursor;
    send({ points: [...get("points"), [within(x, left, right), within(y, bottom, top), sign]], selected: get("points").length });
  };
  const remove = () => {
    const [points, i] = [get("points"), chosen()];
    if (i >= 0) send({ points: points.filter((_, k) => k !== i), selected: Math.max(i - 1, 0) });
  };
  const restart = () => send({ points: get("start"), selected: 0 });

  // -- drawing

  const drawAxes = () => {
    const ticks = (low, high) => {
      const width = niceStep(high - low), found = [];
      for (let t = Math.ceil(low / width) * width; t <= high + 1e-9; t += width) found.push(+t.toFixed(10));
      return found;
    };
    const label = (text, x, y, anchor) => (shape("text", { x, y, "text-anchor": anchor }, axes).textContent = text);
    for (const t of ticks(left, right)) {
      shape("line", { x1: toX(t), x2: toX(t), y1: toY(bottom), y2: toY(top) }, axes);
      label(short(t), toX(t), HEIGHT - PAD + 16, "middle");
    }
    for (const t of ticks(bottom, top)) {
      shape("line", { x1: toX(left), x2: toX(right), y1: toY(t), y2: toY(t) }, axes);
      label(short(t), PAD - 6, toY(t) + 4, "end");
    }
  };

  const place = (i) => {
    const { multipliers = [], slacks = [], places = [] } = get("result");
    const fresh = places.length === get("points").length; // the kernel may still be at work
    return fresh ? { multiplier: multipliers[i], slack: slacks[i], name: places[i] } : null;
  };

  const names = () => {
    const seen = { 1: 0, "-1": 0 };
    return get("points").map(([, , s]) => `${COLOUR[s]} ${(seen[s] += 1)}`);
  };

  const describe = (i, name) => {
    const [x, y] = get("points")[i];
    const at = place(i);
    const found = at ? `, multiplier ${short(at.multiplier)}, slack ${short(at.slack)}, ${at.name}` : "";
    return `${name} at (${short(x)}, ${short(y)})${found}`;
  };

  const drawPoints = () => {
    dots.replaceChildren();
    const label = names(), most = Math.max(...(get("result").multipliers ?? []).map(Math.abs), 1e-300);
    get("points").forEach(([x, y, s], i) => {
      const at = place(i), r = 5 + (at ? (4 * Math.abs(at.multiplier)) / most : 2), [cx, cy] = [toX(x), toY(y)];
      const group = shape("g", {
        class: `board-point ${COLOUR[s]}${at && at.multiplier ? " active" : ""}`, role: "img",
        "aria-label": describe(i, label[i]), "data-index": i,
      }, dots);
      if (i === chosen()) shape("circle", { class: "chosen", cx, cy, r: 15 }, group);
      if (at?.name === "type 1") shape("circle", { class: "ring", cx, cy, r: r + 4 }, group);
      if (s > 0) shape("circle", { class: "dot", cx, cy, r }, group);
      else shape("rect", { class: "dot", x: cx - r + 0.5, y: cy - r + 0.5, width: 2 * r - 1, height: 2 * r - 1 }, group);
      if (at?.name === "misclassified") shape("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` }, group);
      shape("circle", { class: "grip", cx, cy, r: 16 }, group);
    });
  };

  const drawCurves = () => {
    curves.replaceChildren();
    const { curves: lines = {}, arrows = [], places = [] } = get("result");
    if (places.length && places.length !== get("points").length) return; // the kernel may still be at work
    const path = (name, found) => {
      const d = found.map((line) => "M" + line.map(([x, y]) => `${toX(x).toFixed(2)} ${toY(y).toFixed(2)}`).join("L")).join("");
      if (d) shape("path", { class: name, d }, curves);
    };
    for (const [name, found] of Object.entries(lines)) path(name, found);
    path("arrow", arrows.map(([x, y, u, v]) => {
      const [dx, dy] = [u - x, v - y];
      const part = Math.min(0.3, (0.018 * (right - left)) / Math.hypot(dx, dy));
      const back = (turn) => [u - part * (dx - turn * dy), v - part * (dy + turn * dx)];
      return [[x, y], [u, v], back(0.5), [u, v], back(-0.5)];
    }));
  };

  const fillTable = () => {
    body.replaceChildren();
    const label = names();
    get("points").forEach(([x, y], i) => {
      const at = place(i);
      const row = node("tr", i === chosen() ? { class: "chosen", "aria-current": "true" } : {}, body);
      node("th", { scope: "row" }, row, label[i]);
      const cells = [short(x), short(y), at ? short(at.multiplier) : "", at ? short(at.slack) : "", at ? at.name : ""];
      for (const text of cells) node("td", {}, row, text);
      row.addEventListener("click", () => send({ selected: i }));
    });
  };

  const tell = () => {
    const { message = "", facts: found = [] } = get("result");
    const i = chosen();
    status.textContent = message || (i >= 0 ? describe(i, names()[i]) : "No points.");
    status.classList.toggle("board-warning", message !== "");
    facts.replaceChildren();
    for (const [name, value] of found) {
      node("span", {}, facts, name.includes("≤") ? `${name}: ${value}` : `${name} = ${value}`);
      facts.append(" ");
    }
    removal.disabled = i < 0;
  };

  const fillSliders = () => {
    const program = get("program");
    select.value = program;
    sliders.replaceChildren();
    for (const { name, letter, low, high, log, options, when } of get("programs").find((p) => p.name === program).parameters) {
      const change = (value) => send({ values: { ...get("values"), [program]: { ...get("values")[program], [name]: value } } });
      if (when && get("values")[program][when[0]] !== when[1]) continue;
      if (options) {
        const chooser = node("select", {}, node("label", {}, sliders, `${letter} `));
        for (const option of options) node("option", { value: option }, chooser, option);
        chooser.value = get("values")[program][name];
        chooser.addEventListener("change", () => {
          change(chooser.value);
          fillSliders();
          sliders.querySelector("select").focus();
        });
        continue;
      }
      const [put, take] = log ? [Math.log10, (t) => 10 ** t] : [(t) => t, (t) => t];
      const value = get("values")[program][name];
      const label = node("label", {}, sliders, `${letter} `);
      const range = node("input", { type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01 }, label);
      const shown = node("output", {}, label, short(value));
      range.value = put(value);
      range.setAttribute("aria-valuetext", short(value));
      range.addEventListener("input", () => {
        const chosenValue = +take(+range.value).toPrecision(3);
        shown.textContent = short(chosenValue);
        range.setAttribute("aria-valuetext", short(chosenValue));
        change(chosenValue);
      });
    }
  };

  const draw = () => {
    drawCurves();
    drawPoints();
    fillTable();
    tell();
  };

  // -- events

  const position = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [
      left + ((at.x - PAD) / (WIDTH - 2 * PAD)) * (right - left),
      bottom + ((HEIGHT - PAD - at.y) / (HEIGHT - 2 * PAD)) * (top - bottom),
    ];
  };
  const pointUnder = (event) => event.target.closest(".board-point");
  let dragged = null;
  svg.addEventListener("pointerdown", (event) => {
    const under = pointUnder(event);
    if (!under) return;
    event.preventDefault();
    svg.focus({ preventScroll: true });
    dragged = +under.dataset.index;
    svg.setPointerCapture(event.pointerId);
    send({ selected: dragged });
  });
  svg.addEventListener("pointermove", (event) => {
    cursor = position(event);
    if (dragged !== null) move(dragged, ...cursor);
  });
  const drop = () => (dragged = null);
  svg.addEventListener("pointerup", drop);
  svg.addEventListener("pointercancel", drop);
  svg.addEventListener("dblclick", (event) => {
    if (pointUnder(event)) return;
    cursor = position(event);
    add(event.shiftKey ? -1 : 1);
  });

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const act = (event) => {
    const [points, i] = [get("points"), chosen()];
    const turn = (by) => points.length && send({ selected: (i + by + points.length) % points.length });
    const arrow = ARROWS[event.key];
    if (arrow && i >= 0) {
      const far = event.shiftKey ? 10 * step : step;
      move(i, points[i][0] + far * arrow[0], points[i][1] + far * arrow[1]);
    } else if (event.key === "n") turn(1);
    else if (event.key === "p") turn(-1);
    else if (event.key === "a") add(1);
    else if (event.key === "b") add(-1);
    else if (event.key === "Delete" || event.key === "Backspace") remove();
    else if (event.key === "Escape") restart();
    else return false;
    return true;
  };
  svg.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && act(event)) event.preventDefault();
  });
  root.addEventListener("keydown", (event) => event.stopPropagation()); // a notebook has its own meaning for keys
  select.addEventListener("change", () => send({ program: select.value }));

  drawAxes();
  fillSliders();
  draw();
  const listeners = [["change:points", draw], ["change:result", draw], ["change:selected", draw], ["change:program", fillSliders]];
  for (const [name, listener] of listeners) model.on(name, listener);
  return () => {
    for (const [name, listener] of listeners) model.off(name, listener);
  };
}

(globalThis.companionBoards ??= {}).render = render;
})();
