// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, sliders, presets, a table,
// and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `result`; this file owns `points`, `selected`, `program`
// and `values`. Nothing is loaded from anywhere.
(() => {
  const NAMESPACE = "http://www.w3.org/2000/svg"; // a name, not a request
  const [WIDTH, HEIGHT, PAD] = [480, 430, 34];
  const { text: short } = companionBoards.solver;

  const set = (made, attributes, parent, text) => {
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const node = (tag, attributes, parent, text) => set(document.createElement(tag), attributes, parent, text);
  const shape = (tag, attributes, parent, text) => set(document.createElementNS(NAMESPACE, tag), attributes, parent, text);

  // 1, 2 or 5 times a power of ten: about five of them fill the length.
  const niceStep = (length) => {
    const power = 10 ** Math.floor(Math.log10(length / 5));
    return power * ([1, 2, 5].find((m) => m * power >= length / 5) ?? 10);
  };

  // A plane. `equal`: a unit has the same length in both directions. `bare`: it has no axes.
  const makePane = (parent, attributes, equal, bare = false) => {
    const svg = shape("svg", attributes, parent);
    const [axes, back, front] = ["axes", "curves", "points"].map((name) => shape("g", { class: `board-${name}` }, svg));
    axes.setAttribute("aria-hidden", "true");
    back.setAttribute("aria-hidden", "true");
    const pane = { svg, front };
    let seen = "";
    pane.show = (limits) => {
      if (String(limits) === seen) return;
      seen = String(limits);
      const [left, right, bottom, top] = limits;
      const height = equal ? 2 * PAD + ((WIDTH - 2 * PAD) * (top - bottom)) / (right - left) : HEIGHT;
      pane.x = (x) => PAD + ((x - left) / (right - left)) * (WIDTH - 2 * PAD);
      pane.y = (y) => height - PAD - ((y - bottom) / (top - bottom)) * (height - 2 * PAD);
      pane.at = ({ clientX, clientY }) => {
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
        return [
          left + ((x - PAD) / (WIDTH - 2 * PAD)) * (right - left),
          bottom + ((height - PAD - y) / (height - 2 * PAD)) * (top - bottom),
        ];
      };
      svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
      axes.replaceChildren();
      if (bare) return;
      const ticks = (low, high) => {
        const width = niceStep(high - low), first = Math.ceil(low / width);
        return Array.from({ length: Math.floor(high / width + 1e-9) - first + 1 }, (_, k) => (first + k) * width);
      };
      for (const t of ticks(left, right)) {
        shape("line", { x1: pane.x(t), x2: pane.x(t), y1: pane.y(bottom), y2: pane.y(top) }, axes);
        shape("text", { x: pane.x(t), y: height - PAD + 16, "text-anchor": "middle" }, axes, short(t));
      }
      for (const t of ticks(bottom, top)) {
        shape("line", { x1: pane.x(left), x2: pane.x(right), y1: pane.y(t), y2: pane.y(t) }, axes);
        shape("text", { x: PAD - 6, y: pane.y(t) + 4, "text-anchor": "end" }, axes, short(t));
      }
    };
    // Shapes in the plane's own units: lines, arrows, rectangles of a shade between 0 and 1, marks and texts.
    const lines = (found) => found.map((line) => "M" + line.map(([x, y]) => `${pane.x(x).toFixed(2)} ${pane.y(y).toFixed(2)}`).join("L")).join("");
    const head = ([[x, y], [u, v]]) => {
      const [dx, dy] = [pane.x(u) - pane.x(x), pane.y(v) - pane.y(y)], part = Math.min(0.3, 8 / Math.hypot(dx, dy));
      const back = (turn) => `L${pane.x(u) - part * (dx - turn * dy)} ${pane.y(v) - part * (dy + turn * dx)}`;
      return `M${pane.x(u)} ${pane.y(v)}${back(0.5)}M${pane.x(u)} ${pane.y(v)}${back(-0.5)}`;
    };
    const DRAW = {
      path: (name, found) => shape("path", { class: name, d: lines(found) }, back),
      arrows: (name, found) => shape("path", { class: name, d: lines(found) + found.map(head).join("") }, back),
      tiles: (name, found, shade) => shape("path", { class: name, d: lines(found.map(([x, y, u, v]) => [[x, y], [u, y], [u, v], [x, v]])), "fill-opacity": shade }, back),
      mark: (name, [x, y]) => {
        const [cx, cy] = [pane.x(x), pane.y(y)];
        shape("path", { class: `${name} mark`, d: name === "red" ? `M${cx - 3.5} ${cy - 3.5}h7v7h-7z` : `M${cx - 4} ${cy}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0` }, back);
      },
      text: (name, [x, y], words) => shape("text", { class: name, x: pane.x(x), y: pane.y(y) }, back, words),
    };
    pane.draw = (shapes) => {
      back.replaceChildren();
      for (const [kind, ...rest] of shapes) DRAW[kind](...rest);
    };
    return pane;
  };

  function render({ model, el }) {
    const get = (name) => model.get(name);
    const board = companionBoards.kinds[get("kind")];
    const [left, right, bottom, top] = get("limits");
    const step = niceStep(Math.min(right - left, top - bottom)) / 10;
    const within = (x, low, high) => Math.min(Math.max(+(Math.round((x / step) * 10) * (step / 10)).toFixed(10), low), high);
    const id = `board-${Math.random().toString(36).slice(2)}`;

    // -- the parts of the page

    const root = node("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" }, el);
    for (const [name, value] of Object.entries(get("colors"))) root.style.setProperty(`--board-${name}`, value);
    const controls = node("div", { class: "board-controls" }, root);
    const chooser = (parent, label, options) => {
      const made = node("select", {}, node("label", {}, parent, `${label} `));
      for (const option of options) node("option", { value: option }, made, option);
      return made;
    };
    const select = chooser(controls, "program", get("programs").map(({ name }) => name));
    select.parentNode.hidden = get("programs").length < 2;
    const sliders = node("span", { class: "board-sliders" }, controls);
    const preset = chooser(controls, "points", ["choose", ...Object.keys(get("presets"))]);
    preset.parentNode.hidden = preset.length < 2;

    const main = node("div", { class: "board-main" }, root);
    const figure = node("div", { class: "board-figure" }, main);
    const pane = makePane(figure, {
      tabindex: "0", role: "application", "aria-roledescription": "board of points", "aria-label": board.label, "aria-describedby": `${id}-help`,
    }, board.equal);
    pane.show(get("limits"));
    const buttons = node("div", { class: "board-buttons" }, figure);
    const button = (text, key, act) => {
      const made = node("button", { type: "button", "aria-keyshortcuts": key }, buttons, text);
      made.addEventListener("click", act);
      return made;
    };
    for (const [sign, name, key] of board.adds) button(`Add ${name}`, key, () => add(sign));
    const removal = board.adds.length ? button("Remove point", "Delete", () => remove()) : null;
    button("Start again", "Escape", () => restart());
    const keys = board.adds.map(([, name, key]) => `${key} adds a ${name}, `).join("");
    const double = board.adds.length > 1 ? " (with Shift: a red one)" : "";
    node("p", { class: "board-help", id: `${id}-help` }, figure,
      `Drag a point${keys ? `, or double-click to add one${double}` : ""}. Keys: n and p choose the next and the previous point, ` +
      `the arrows move it (with Shift: far), ${keys}${keys ? "Delete removes, " : ""}Escape starts again.`);

    const side = node("div", { class: "board-side" }, main);
    const second = board.second ? makePane(side, { role: "img", "aria-label": board.second }, board.secondEqual, board.bare) : null;
    const status = node("p", { class: "board-status", role: "status", "aria-live": "polite" }, side);
    const facts = node("p", { class: "board-facts" }, side);
    const table = node("table", {}, side);
    const head = node("tr", {}, node("thead", {}, table));
    const body = node("tbody", {}, table);
    for (const title of ["point", ...board.axes, ...board.head]) node("th", { scope: "col" }, head, title);

    // -- changes

    const send = (changes) => {
      for (const [name, value] of Object.entries(changes)) model.set(name, value);
      model.save_changes();
    };
    const chosen = () => Math.min(get("selected"), get("points").length - 1);
    const place = ([x, y], sign) => [within(x, left, right), within(y, bottom, top), sign];
    const move = (i, at) => send({ points: get("points").map((p, k) => (k === i ? place(at, p[2]) : p)) });
    let cursor = [(left + right) / 2, (bottom + top) / 2];
    const add = (sign) => send({ points: [...get("points"), place(cursor, sign)], selected: get("points").length });
    const remove = () => {
      const i = chosen();
      if (i >= 0) send({ points: get("points").filter((_, k) => k !== i), selected: Math.max(i - 1, 0) });
    };
    const restart = () => send({ points: get("start"), selected: 0 });

    // -- drawing

    const names = () => {
      const seen = {};
      const called = (s) => board.adds.find(([sign]) => sign === s)[1].replace(" point", ""); // "blue point": blue 1, blue 2
      return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
    };
    const describe = (i, name, { cells = [] } = {}) => {
      const [x, y] = get("points")[i];
      return [`${name} at (${short(x)}, ${short(y)})`, ...cells.map((cell, k) => `${board.head[k]} ${cell}`)].join(", ");
    };

    const drawPoints = (label, marks) => {
      pane.front.replaceChildren();
      get("points").forEach(([x, y, s], i) => {
        if (marks[i]?.hidden) return;
        const { size = 0.5, colour = board.colour(s), active, ring, cross } = marks[i] ?? {};
        const [cx, cy, r] = [pane.x(x), pane.y(y), 5 + 4 * size];
        const group = shape("g", {
          class: `board-point ${colour}${active ? " active" : ""}`, role: "img", "aria-label": describe(i, label[i], marks[i]), "data-index": i,
        }, pane.front);
        if (i === chosen()) shape("circle", { class: "chosen", cx, cy, r: 15 }, group);
        if (ring) shape("circle", { class: "ring", cx, cy, r: r + 4 }, group);
        if (colour !== "red") shape("circle", { class: "dot", cx, cy, r }, group);
        else shape("rect", { class: "dot", x: cx - r + 0.5, y: cy - r + 0.5, width: 2 * r - 1, height: 2 * r - 1 }, group);
        if (cross) shape("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` }, group);
        shape("circle", { class: "grip", cx, cy, r: 16 }, group);
      });
    };

    const fillTable = (label, marks) => {
      body.replaceChildren();
      get("points").forEach(([x, y], i) => {
        if (marks[i]?.hidden) return;
        const row = node("tr", i === chosen() ? { class: "chosen", "aria-current": "true" } : {}, body);
        node("th", { scope: "row" }, row, label[i]);
        for (const text of [short(x), short(y), ...(marks[i]?.cells ?? board.head.map(() => ""))]) node("td", {}, row, text);
        row.addEventListener("click", () => send({ selected: i }));
      });
    };

    const draw = () => {
      const result = get("result"), points = get("points"), program = get("programs").find(({ name }) => name === get("program"));
      const fresh = (result.size ?? points.length) === points.length; // a kernel may still be at work
      const empty = { marks: [], shapes: [], facts: [] };
      const view = fresh && result.solved
        ? board.view(result, { points, limits: get("limits"), values: get("values")[get("program")], machine: program.machine }) : empty;
      const label = names(), i = chosen(), { message = "" } = result;
      pane.draw(view.shapes);
      if (second && view.second) {
        second.show(view.second.limits);
        second.draw(view.second.shapes);
      }
      drawPoints(label, view.marks);
      fillTable(label, view.marks);
      status.textContent = message || (i >= 0 ? describe(i, label[i], view.marks[i]) : "No points.");
      status.classList.toggle("board-warning", message !== "");
      facts.replaceChildren();
      for (const [name, value] of view.facts) {
        node("span", {}, facts, /[≤≥]/.test(name) ? `${name}: ${value}` : `${name} = ${value}`);
        facts.append(" ");
      }
      if (removal) removal.disabled = i < 0;
    };

    const fillSliders = () => {
      const program = get("program"), values = get("values")[program];
      select.value = program;
      sliders.replaceChildren();
      for (const { name, letter, low, high, log, options, when } of get("programs").find((p) => p.name === program).parameters) {
        const change = (value) => send({ values: { ...get("values"), [program]: { ...get("values")[program], [name]: value } } });
        if (when && values[when[0]] !== when[1]) continue;
        if (options) {
          const made = chooser(sliders, letter, options);
          made.value = values[name];
          made.addEventListener("change", () => {
            change(made.value);
            fillSliders();
            sliders.querySelector("select").focus();
          });
          continue;
        }
        const [put, take] = log ? [Math.log10, (t) => 10 ** t] : [(t) => t, (t) => t];
        const label = node("label", {}, sliders, `${letter} `);
        const range = node("input", { type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01 }, label);
        const shown = node("output", {}, label);
        const tell = (value) => {
          shown.textContent = short(value);
          range.setAttribute("aria-valuetext", short(value));
        };
        range.value = put(values[name]);
        tell(values[name]);
        range.addEventListener("input", () => {
          const value = +take(+range.value).toPrecision(3);
          tell(value);
          change(value);
        });
      }
    };

    // -- events

    let dragged = null;
    pane.svg.addEventListener("pointerdown", (event) => {
      const under = event.target.closest(".board-point");
      if (!under) return;
      event.preventDefault();
      pane.svg.focus({ preventScroll: true });
      dragged = +under.dataset.index;
      pane.svg.setPointerCapture(event.pointerId);
      send({ selected: dragged });
    });
    pane.svg.addEventListener("pointermove", (event) => {
      cursor = pane.at(event);
      if (dragged !== null) move(dragged, cursor);
    });
    for (const end of ["pointerup", "pointercancel"]) pane.svg.addEventListener(end, () => (dragged = null));
    pane.svg.addEventListener("dblclick", (event) => {
      if (event.target.closest(".board-point") || !board.adds.length) return;
      cursor = pane.at(event);
      add(board.adds.at(event.shiftKey ? -1 : 0)[0]);
    });

    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const act = ({ key, shiftKey }) => {
      const points = get("points"), i = chosen(), arrow = ARROWS[key], far = shiftKey ? 10 * step : step;
      const turn = (by) => points.length && send({ selected: (i + by + points.length) % points.length });
      const added = board.adds.find(([, , own]) => own === key);
      if (arrow && i >= 0) move(i, [points[i][0] + far * arrow[0], points[i][1] + far * arrow[1]]);
      else if (key === "n") turn(1);
      else if (key === "p") turn(-1);
      else if (added) add(added[0]);
      else if (["Delete", "Backspace"].includes(key) && board.adds.length) remove();
      else if (key === "Escape") restart();
      else return false;
      return true;
    };
    pane.svg.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && act(event)) event.preventDefault();
    });
    root.addEventListener("keydown", (event) => event.stopPropagation()); // a notebook has its own meaning for keys
    select.addEventListener("change", () => send({ program: select.value }));
    preset.addEventListener("change", () => {
      const points = get("presets")[preset.value];
      if (points) send({ points, selected: 0 });
      preset.value = "choose";
    });

    fillSliders();
    draw();
    const listeners = [["change:points", draw], ["change:result", draw], ["change:selected", draw], ["change:program", fillSliders]];
    for (const [name, listener] of listeners) model.on(name, listener);
    return () => listeners.forEach(([name, listener]) => model.off(name, listener));
  }

  companionBoards.render = render;
})();
