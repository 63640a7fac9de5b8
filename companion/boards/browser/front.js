// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, sliders, presets, a
// table, and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `result`; this file owns `points`, `selected`,
// `program` and `values`. Nothing is loaded from anywhere.
companionBoards.render = ({ model, el }) => {
  const { make, niceStep, makePlane, numbers: { text } } = companionBoards;
  const get = (name) => model.get(name), [left, right, bottom, top] = get("limits");
  const board = { axes: ["x", "y"], head: [], adds: [[1, "point", "a"]], ...companionBoards.kinds[get("kind")] };
  const free = !get("fixed"), adds = free ? board.adds : [], step = niceStep(Math.min(right - left, top - bottom)) / 10;
  const program = () => get("programs").find(({ name }) => name === get("program"));
  const values = () => get("values")[get("program")];
  const chosen = () => Math.min(get("selected"), get("points").length - 1);

  // -- changes

  let news = "", cursor = [(left + right) / 2, (bottom + top) / 2]; // the last change in words; where a point is added
  const send = (words, changes) => {
    news = words;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const near = (t) => +(Math.round((10 * t) / step) * (step / 10)).toFixed(10);
  const within = (t, low, high) => Math.min(Math.max(near(t), low), high);
  const place = ([x, y], sign) => [within(x, left, right), within(y, bottom, top), sign];
  const move = (i, at) => send("", { points: get("points").with(i, place(at, get("points")[i][2])) });
  const add = ([sign, name]) =>
    send(`Added a ${name}. `, { points: [...get("points"), place(cursor, sign)], selected: get("points").length });
  const remove = () => {
    const i = chosen(), points = get("points").filter((_, k) => k !== i);
    if (i >= 0) send(`Removed ${names()[i]}. `, { points, selected: Math.max(i - 1, 0) });
  };
  const restart = () => send("Started again. ", { points: get("start"), selected: 0 });
  const turn = (by) => {
    const count = get("points").length;
    if (count) send("", { selected: (chosen() + by + count) % count });
  };
  const go = (dx, dy) => (far) => {
    const [x, y] = get("points")[chosen()] ?? [];
    if (x !== undefined) move(chosen(), [x + far * dx, y + far * dy]);
  };

  // -- choices and sliders; `show` shows the value

  const control = ({ letter, options, low, high, log, value, change, when = () => true }) => {
    const put = log ? Math.log10 : Number, take = log ? (t) => 10 ** t : Number, shown = make("output");
    const range = { type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01 };
    const input = options
      ? make("select", { onchange: () => change(input.value) }, ...options.map((name) => make("option", {}, name)))
      : make("input", { ...range, oninput: () => change(+take(input.value).toPrecision(3)) });
    const label = make("label", {}, `${letter} `, input, ...(options ? [] : [shown]));
    const show = () => {
      label.hidden = options?.length < 2 || !when();
      input.value = options ? value() : put(value());
      shown.textContent = text(value());
      if (!options) input.setAttribute("aria-valuetext", text(value()));
    };
    return { label, show };
  };
  const programs = control({
    letter: "program", options: get("programs").map(({ name }) => name), value: () => get("program"),
    change: (name) => send(`${name}: `, { program: name }),
  });
  const presets = control({
    letter: "points", options: ["choose", ...Object.keys(get("presets"))], value: () => "choose",
    change: (name) => send(`Points: ${name}. `, { points: get("presets")[name] ?? get("points"), selected: 0 }),
  });
  const sliders = make("span", { class: "board-sliders" });
  let controls = [], own = ""; // the program whose sliders are there
  const showControls = () => {
    if (own !== get("program")) fillSliders();
    for (const { show } of [programs, presets, ...controls]) show();
  };
  const fillSliders = () => {
    const mine = own = get("program");
    const set = (name, value) => ({ ...get("values"), [mine]: { ...get("values")[mine], [name]: value } });
    controls = program().parameters.map(({ name, when, ...rest }) => control({
      ...rest, value: () => values()[name], when: when && (() => values()[when[0]] === when[1]),
      change: (value) => send(`${rest.letter} = ${text(value)}: `, { values: set(name, value) }),
    }));
    sliders.replaceChildren(...controls.map(({ label }) => label));
  };

  // -- the parts of the page

  const button = (words, key, onclick) => make("button", { type: "button", "aria-keyshortcuts": key, onclick }, words);
  const removal = button("Remove point", "Delete", remove);
  const buttons = adds.map((kind) => button(`Add ${kind[1]}`, kind[2], () => add(kind))).concat(free ? removal : []);
  const help = make("p", { class: "board-help", id: `board-${Math.random().toString(36).slice(2)}` },
    `Drag a point${free ? ", or double-click to add one" : ""}${adds.length > 1 ? " (with Shift: a red one)" : ""}. `
    + "Keys: n and p choose the next and the previous point, the arrows move it (with Shift: far), "
    + `${adds.map(([, name, key]) => `${key} adds a ${name}, `).join("")}${free ? "Delete removes, " : ""}`
    + "Escape starts again.");
  const plane = makePlane({
    tabindex: "0", role: "application", "aria-roledescription": "board of points", "aria-label": board.label,
    "aria-describedby": help.id,
  }, board);
  plane.show(get("limits"));
  const second = board.second && makePlane({ role: "img", "aria-label": board.second.label }, board.second);
  const status = make("p", { class: "board-status", role: "status", "aria-live": "polite" });
  const facts = make("p", { class: "board-facts" }), body = make("tbody");
  const titles = ["point", ...board.axes, ...board.head].map((title) => make("th", { scope: "col" }, title));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...titles)), body);
  const root = make("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" },
    make("div", { class: "board-controls" }, programs.label, sliders, presets.label),
    make("div", { class: "board-main" },
      make("div", { class: "board-figure" }, plane.svg,
        make("div", { class: "board-buttons" }, ...buttons, button("Start again", "Escape", restart)), help),
      make("div", { class: "board-side" }, ...(second ? [second.svg] : []), status, facts, table)));
  for (const [name, value] of Object.entries(get("colors"))) root.style.setProperty(`--board-${name}`, value);
  el.append(root);

  // -- drawing

  const names = () => {
    const seen = {}; // "blue point": blue 1, blue 2
    const called = (sign) => board.adds.find((kind) => kind[0] === sign)[1].replace(" point", "");
    return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
  };
  const drawPoint = (i, label, { size = 0.5, colour, active, ring, cross }) => {
    const [x, y, sign] = get("points")[i], cx = plane.x(x), cy = plane.y(y), r = 5 + 4 * size;
    const kind = colour ?? (adds.length < 2 ? "grey" : sign > 0 ? "blue" : "red");
    const circle = (name, radius) => make("circle", { class: name, cx, cy, r: radius });
    const square = { x: cx - r + 0.5, y: cy - r + 0.5, width: 2 * r - 1, height: 2 * r - 1 };
    const group = { class: `board-point ${kind}${active ? " active" : ""}`, role: "img", "aria-label": label };
    return make("g", { ...group, "data-index": i },
      kind === "red" ? make("rect", { class: "dot", ...square }) : circle("dot", r),
      ...(i === chosen() ? [circle("chosen", 15)] : []), ...(ring ? [circle("ring", r + 4)] : []),
      ...(cross ? [make("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` })] : []), circle("grip", 16));
  };
  const draw = () => {
    const result = get("result"), points = get("points"), at = chosen(), label = names();
    const fresh = result.solved && result.size === points.length; // a kernel may still be at work
    const given = { points, limits: get("limits"), values: values(), machine: program().machine };
    const view = { marks: [], shapes: [], facts: {}, ...(fresh && board.view(result, given)) };
    plane.draw(view.shapes);
    if (view.second) {
      second.show(view.second.limits);
      second.draw(view.second.shapes);
    }
    const rows = points.map(([x, y], i) => {
      const cells = [x, y, ...(view.marks[i]?.cells ?? board.head.map(() => ""))].map(text);
      const rest = fresh ? cells.slice(2).map((cell, k) => `, ${board.head[k]} ${cell}`) : [];
      return { i, cells, words: `${label[i]} at (${cells[0]}, ${cells[1]})${rest.join("")}` };
    }).filter(({ i }) => !view.marks[i]?.hidden);
    plane.front.replaceChildren(...rows.map(({ i, words }) => drawPoint(i, words, view.marks[i] ?? {})));
    body.replaceChildren(...rows.map(({ i, cells }) =>
      make("tr", { "aria-current": String(i === at), onclick: () => send("", { selected: i }) },
        make("th", { scope: "row" }, label[i]), ...cells.map((cell) => make("td", {}, cell)))));
    const numbers = Object.entries(view.facts).map(([title, value]) =>
      `${title}${/[≤≥]/.test(title) ? ":" : " ="} ${text(value)}`);
    facts.replaceChildren(...numbers.flatMap((words) => [make("span", {}, words), " "]));
    const here = rows.find(({ i }) => i === at)?.words ?? "No points.";
    status.textContent = news + (result.message || (news.includes(":") ? numbers.slice(0, 3).join(", ") : here));
    status.classList.toggle("board-warning", Boolean(result.message));
    removal.disabled = at < 0;
    showControls();
  };

  // -- pointer and keys

  let dragged = null;
  const drop = () => (dragged = null);
  const keys = {
    ArrowLeft: go(-step, 0), ArrowRight: go(step, 0), ArrowUp: go(0, step), ArrowDown: go(0, -step),
    n: () => turn(1), p: () => turn(-1), Escape: restart, ...(free ? { Delete: remove, Backspace: remove } : {}),
    ...Object.fromEntries(adds.map((kind) => [kind[2], () => add(kind)])),
  };
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
    onpointerup: drop, onpointercancel: drop,
    ondblclick: (event) => {
      if (event.target.closest(".board-point") || !free) return;
      cursor = plane.at(event);
      add(adds.at(event.shiftKey ? -1 : 0));
    },
    onkeydown: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      keys[event.key](event.shiftKey ? 10 : 1);
      event.preventDefault();
    },
  });
  root.onkeydown = (event) => event.stopPropagation(); // a notebook has its own meaning for keys

  draw();
  model.on("change", draw);
  return () => model.off("change", draw);
};
