// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, sliders, presets, a table,
// and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `result`; this file owns `points`, `selected`, `program`
// and `values`. Nothing is loaded from anywhere.
companionBoards.render = ({ model, el }) => {
  const { make, niceStep, makePlane, numbers: { text } } = companionBoards;
  const get = (name) => model.get(name), board = companionBoards.kinds[get("kind")];
  const [left, right, bottom, top] = get("limits"), step = niceStep(Math.min(right - left, top - bottom)) / 10;
  const programOf = (name) => get("programs").find((p) => p.name === name);
  const chosen = () => Math.min(get("selected"), get("points").length - 1);
  let news = ""; // what the last change was, in words

  // -- changes

  const send = (words, changes) => {
    news = words;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const near = (t, low, high) => Math.min(Math.max(+(Math.round((t / step) * 10) * (step / 10)).toFixed(10), low), high);
  const place = ([x, y], sign) => [near(x, left, right), near(y, bottom, top), sign];
  const move = (i, at) => send("", { points: get("points").map((p, k) => (k === i ? place(at, p[2]) : p)) });
  let cursor = [(left + right) / 2, (bottom + top) / 2];
  const add = ([sign, name]) => send(`Added a ${name}. `, { points: [...get("points"), place(cursor, sign)], selected: get("points").length });
  const remove = () => {
    const i = chosen();
    if (i >= 0) send(`Removed ${names()[i]}. `, { points: get("points").filter((_, k) => k !== i), selected: Math.max(i - 1, 0) });
  };
  const restart = () => send("Started again. ", { points: get("start"), selected: 0 });

  // -- the parts of the page

  const choice = (label, options, change) => {
    const list = make("select", { onchange: () => change(list.value) }, ...options.map((value) => make("option", { value }, value)));
    return [make("label", { hidden: options.length < 2 }, `${label} `, list), list];
  };
  const [programs, program] = choice("program", get("programs").map(({ name }) => name), (name) => send(`${name}: `, { program: name }));
  const [presets, preset] = choice("points", ["choose", ...Object.keys(get("presets"))], (name) => {
    preset.value = "choose";
    if (name !== "choose") send(`Points: ${name}. `, { points: get("presets")[name], selected: 0 });
  });
  const sliders = make("span", { class: "board-sliders" });
  const button = (words, key, onclick) => make("button", { type: "button", "aria-keyshortcuts": key, onclick }, words);
  const removal = button("Remove point", "Delete", () => remove()), free = board.adds.length > 0;
  const adding = board.adds.map((kind) => button(`Add ${kind[1]}`, kind[2], () => add(kind)));
  const help = make("p", { class: "board-help", id: `board-${Math.random().toString(36).slice(2)}` },
    `Drag a point${free ? ", or double-click to add one" : ""}${board.adds.length > 1 ? " (with Shift: a red one)" : ""}. `
    + "Keys: n and p choose the next and the previous point, the arrows move it (with Shift: far), "
    + `${board.adds.map(([, name, key]) => `${key} adds a ${name}, `).join("")}${free ? "Delete removes, " : ""}Escape starts again.`);
  const plane = makePlane({
    tabindex: "0", role: "application", "aria-roledescription": "board of points", "aria-label": board.label, "aria-describedby": help.id,
  }, { equal: board.equal });
  plane.show(get("limits"));
  const second = board.second && makePlane({ role: "img", "aria-label": board.second }, { equal: !board.wide, bare: board.bare });
  const status = make("p", { class: "board-status", role: "status", "aria-live": "polite" }), facts = make("p", { class: "board-facts" });
  const body = make("tbody"), titles = ["point", ...board.axes, ...board.head].map((title) => make("th", { scope: "col" }, title));
  const buttons = make("div", { class: "board-buttons" }, ...adding, ...(free ? [removal] : []), button("Start again", "Escape", restart));
  const root = make("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" },
    make("div", { class: "board-controls" }, programs, sliders, presets),
    make("div", { class: "board-main" },
      make("div", { class: "board-figure" }, plane.svg, buttons, help),
      make("div", { class: "board-side" }, ...(second ? [second.svg] : []), status, facts,
        make("table", {}, make("thead", {}, make("tr", {}, ...titles)), body))));
  for (const [name, value] of Object.entries(get("colors"))) root.style.setProperty(`--board-${name}`, value);
  el.append(root);

  // -- drawing

  const names = () => {
    const seen = {}; // "blue point": blue 1, blue 2
    const called = (sign) => board.adds.find((kind) => kind[0] === sign)[1].replace(" point", "");
    return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
  };
  const drawPoint = ([x, y, s], i, label, { size = 0.5, colour = board.colour(s), active = false, ring, cross }) => {
    const [cx, cy, r] = [plane.x(x), plane.y(y), 5 + 4 * size];
    const group = make("g", { class: `board-point ${colour}`, role: "img", "aria-label": label, "data-index": i });
    group.classList.toggle("active", active);
    if (i === chosen()) group.append(make("circle", { class: "chosen", cx, cy, r: 15 }));
    if (ring) group.append(make("circle", { class: "ring", cx, cy, r: r + 4 }));
    group.append(colour !== "red" ? make("circle", { class: "dot", cx, cy, r })
      : make("rect", { class: "dot", x: cx - r + 0.5, y: cy - r + 0.5, width: 2 * r - 1, height: 2 * r - 1 }));
    if (cross) group.append(make("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` }));
    group.append(make("circle", { class: "grip", cx, cy, r: 16 }));
    return group;
  };
  const draw = () => {
    const result = get("result"), points = get("points"), name = get("program"), values = get("values")[name];
    const fresh = result.solved && result.size === points.length; // a kernel may still be at work
    const { marks = [], shapes = [], facts: found = [], second: other } = fresh
      ? board.view(result, { points, limits: get("limits"), values, machine: programOf(name).machine }) : {};
    plane.draw(shapes);
    if (second && other) {
      second.show(other.limits);
      second.draw(other.shapes);
    }
    const shown = [...points.keys()].filter((i) => !marks[i]?.hidden), at = chosen(), label = names();
    const cells = shown.map((i) => [points[i][0], points[i][1], ...(marks[i]?.cells ?? board.head.map(() => ""))].map(text));
    const words = cells.map(([x, y, ...rest], k) =>
      [`${label[shown[k]]} at (${x}, ${y})`, ...(fresh ? rest.map((cell, j) => `${board.head[j]} ${cell}`) : [])].join(", "));
    plane.front.replaceChildren(...shown.map((i, k) => drawPoint(points[i], i, words[k], marks[i] ?? {})));
    body.replaceChildren(...shown.map((i, k) => make("tr", {
      ...(i === at ? { class: "chosen", "aria-current": "true" } : {}), onclick: () => send("", { selected: i }),
    }, make("th", { scope: "row" }, label[i]), ...cells[k].map((cell) => make("td", {}, cell)))));
    const numbers = found.map(([title, value]) => `${title}${/[≤≥]/.test(title) ? ":" : " ="} ${text(value)}`);
    facts.replaceChildren(...numbers.flatMap((words) => [make("span", {}, words), " "]));
    const here = words[shown.indexOf(at)] ?? "No points.", telling = /[:=]/.test(news);
    status.textContent = news + (result.message || (telling ? numbers.slice(0, 3).join(", ") : here));
    status.classList.toggle("board-warning", Boolean(result.message));
    removal.disabled = at < 0;
    controls.forEach((show) => show(values));
  };

  // -- the sliders of a program; each is a function that shows its value

  let controls = [];
  const control = ({ name, letter, low, high, log, options, when }) => {
    const own = get("program"), [put, take] = log ? [Math.log10, (t) => 10 ** t] : [(t) => t, (t) => t];
    const change = (value) => send(`${letter} = ${text(value)}: `, { values: { ...get("values"), [own]: { ...get("values")[own], [name]: value } } });
    const [label, input] = options ? choice(letter, options, change) : [make("label", {}, `${letter} `), make("input", {
      type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01, oninput: () => change(+take(+input.value).toPrecision(3)),
    })];
    const shown = make("output");
    if (!options) label.append(input, shown);
    sliders.append(label);
    return (values) => {
      label.hidden = Boolean(when) && values[when[0]] !== when[1];
      input.value = options ? values[name] : put(values[name]);
      shown.textContent = text(values[name]);
      if (!options) input.setAttribute("aria-valuetext", shown.textContent);
    };
  };
  const fillSliders = () => {
    program.value = get("program");
    sliders.replaceChildren();
    controls = programOf(program.value).parameters.map(control);
    controls.forEach((show) => show(get("values")[program.value]));
  };

  // -- pointer and keys

  let dragged = null;
  Object.assign(plane.svg, {
    onpointerdown: (event) => {
      const under = event.target.closest(".board-point");
      if (!under) return;
      event.preventDefault();
      plane.svg.focus({ preventScroll: true });
      plane.svg.setPointerCapture(event.pointerId);
      dragged = +under.dataset.index;
      send("", { selected: dragged });
    },
    onpointermove: (event) => {
      cursor = plane.at(event);
      if (dragged !== null) move(dragged, cursor);
    },
    onpointerup: () => (dragged = null),
    onpointercancel: () => (dragged = null),
    ondblclick: (event) => {
      if (event.target.closest(".board-point") || !free) return;
      cursor = plane.at(event);
      add(board.adds.at(event.shiftKey ? -1 : 0));
    },
  });
  const turn = (by) => get("points").length && send("", { selected: (chosen() + by + get("points").length) % get("points").length });
  const go = (dx, dy) => (far) => {
    const point = get("points")[chosen()];
    if (point) move(chosen(), [point[0] + far * dx, point[1] + far * dy]);
  };
  const keys = {
    ArrowLeft: go(-step, 0), ArrowRight: go(step, 0), ArrowUp: go(0, step), ArrowDown: go(0, -step),
    n: () => turn(1), p: () => turn(-1), Escape: restart, ...(free ? { Delete: remove, Backspace: remove } : {}),
    ...Object.fromEntries(board.adds.map((kind) => [kind[2], () => add(kind)])),
  };
  plane.svg.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    keys[event.key](event.shiftKey ? 10 : 1);
    event.preventDefault();
  };
  root.onkeydown = (event) => event.stopPropagation(); // a notebook has its own meaning for keys

  fillSliders();
  draw();
  const listeners = { program: fillSliders, points: draw, selected: draw, values: draw, result: draw };
  for (const [name, listener] of Object.entries(listeners)) model.on(`change:${name}`, listener);
  return () => Object.entries(listeners).forEach(([name, listener]) => model.off(`change:${name}`, listener));
};
