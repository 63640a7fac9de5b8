// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, select boxes,
// sliders, presets, and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `config`; this file changes `points`, `selected` and
// `values`, and solves for them. Nothing is loaded from anywhere.
companionBoards.render = ({ model, el }) => {
  const { make, answer, niceStep, makePlane, numbers: { text } } = companionBoards;
  const get = (name) => model.get(name), { kind, start, limits, parameters, presets, fixed, colors } = get("config");
  const board = { adds: [[1, "point", "a"]], ...companionBoards.kinds[kind] }, adds = fixed ? [] : board.adds;
  const [left, right, bottom, top] = limits, fine = niceStep(Math.min(right - left, top - bottom)) / 100;
  const chosen = () => Math.min(get("selected"), get("points").length - 1);

  // -- changes

  let news = "", cursor = [(left + right) / 2, (bottom + top) / 2]; // the last change in words, where a point is added
  const send = (words, changes) => {
    news = words;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const near = (t, low, high) => Math.min(Math.max(+(Math.round(t / fine) * fine).toFixed(10), low), high);
  const place = ([x, y], sign) => [near(x, left, right), near(y, bottom, top), sign];
  const move = (i, at) => send("", { points: get("points").with(i, place(at, get("points")[i][2])) });
  const add = ([sign, name]) =>
    send(`Added a ${name}. `, { points: [...get("points"), place(cursor, sign)], selected: get("points").length });
  const remove = () => {
    const i = chosen(), points = get("points").filter((_, k) => k !== i);
    if (i >= 0) send(`Removed ${names()[i]}. `, { points, selected: Math.max(i - 1, 0) });
  };
  const turn = (by) => send("", { selected: (chosen() + by + get("points").length) % (get("points").length || 1) });
  const go = (dx, dy) => (far) => {
    const point = get("points")[chosen()], by = 10 * far * fine;
    if (point) move(chosen(), [point[0] + by * dx, point[1] + by * dy]);
  };
  // What a button does, and its key.
  const actions = [
    ...adds.map((each) => [`Add ${each[1]}`, each[2], () => add(each)]),
    ...(fixed ? [] : [["Remove point", "Delete", remove]]),
    ["Start again", "Escape", () => send("Started again. ", { points: start, selected: 0 })],
  ];

  // -- select boxes and sliders

  const control = ({ letter, options, low, high, log, when, value, change }) => {
    const put = log ? Math.log10 : Number, take = log ? (t) => 10 ** t : Number, shown = make("output");
    const range = { type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01 };
    const input = options
      ? make("select", { onchange: () => change(input.value) }, ...options.map((name) => make("option", {}, name)))
      : make("input", { ...range, oninput: () => change(+take(input.value).toPrecision(3)) });
    const label = make("label", {}, `${letter} `, input, shown);
    const show = () => {
      label.hidden = when && !when[1].includes(get("values")[when[0]]);
      input.value = options ? value() : put(value());
      if (options) return;
      shown.textContent = text(value());
      input.setAttribute("aria-valuetext", text(value()));
    };
    return { label, show };
  };
  const ofValue = (parameter) => control({
    ...parameter, value: () => get("values")[parameter.name],
    change: (t) => send(`${parameter.letter} = ${text(t)}: `, { values: { ...get("values"), [parameter.name]: t } }),
  });
  const controls = [...parameters.map(ofValue), control({
    letter: "points", options: ["choose", ...Object.keys(presets)], value: () => "choose",
    change: (name) => send(`Points: ${name}. `, { points: presets[name] ?? get("points"), selected: 0 }),
  })];

  // -- the parts of the page

  const buttons = actions.map(([words, key, onclick]) =>
    make("button", { type: "button", "aria-keyshortcuts": key, onclick }, words));
  const help = make("p", { class: "board-help", id: `board-${Math.random().toString(36).slice(2)}` },
    `Drag a point${fixed ? "" : ", or double-click to add one"}${adds.length > 1 ? " (with Shift: a red one)" : ""}. `
    + "Keys: n and p choose the next and the previous point, the arrows move it (with Shift: far), "
    + `${actions.map(([words, key]) => `${key}: ${words.toLowerCase()}`).join(", ")}.`);
  const roles = { tabindex: "0", role: "application", "aria-roledescription": "board of points" };
  const plane = makePlane({ ...roles, "aria-describedby": help.id }, { ...board, limits }), second = make("div");
  const status = make("p", { class: "board-status", role: "status", "aria-live": "polite" });
  const facts = make("p", { class: "board-facts" });
  const root = make("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" },
    make("div", { class: "board-controls" }, ...controls.map(({ label }) => label)),
    make("div", { class: "board-main" },
      make("div", { class: "board-figure" }, plane.svg, make("div", { class: "board-buttons" }, ...buttons), help),
      make("div", { class: "board-side" }, second, status, facts)));
  for (const [name, value] of Object.entries(colors)) root.style.setProperty(`--board-${name}`, value);
  el.append(root);

  // -- drawing

  const names = () => {
    const seen = {}, called = (sign) => board.adds.find((each) => each[0] === sign)[1].split(" ")[0]; // blue 1, blue 2
    return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
  };
  const drawPoint = (i, label, { size = 0.5, colour, active, ring, cross } = {}) => {
    const [x, y, sign] = get("points")[i], r = 5 + 4 * size;
    const kept = colour ?? (adds.length < 2 ? "grey" : sign > 0 ? "blue" : "red"), corner = kept === "red" ? 0 : r;
    const circle = (name, radius) => make("circle", { class: name, r: radius });
    return make("g", {
      class: `board-point ${kept}`, transform: `translate(${plane.place([x, y])})`,
      role: "img", "aria-label": label, "data-index": i, "fill-opacity": active ? 1 : 0.12,
    }, make("rect", { class: "dot", x: -r, y: -r, width: 2 * r, height: 2 * r, rx: corner }),
    i === chosen() && circle("chosen", 15), ring && circle("ring", r + 4),
    cross && make("path", { stroke: "#fff", d: "M-4 -4l8 8m0-8l-8 8" }), circle("grip", 16));
  };
  const draw = () => {
    const points = get("points"), given = { points, limits, values: get("values") }, called = names();
    const result = root.result = answer(kind, given), found = result.solved && board.view(result, given);
    const view = { marks: [], shapes: [], facts: {}, ...found };
    plane.draw(view.shapes);
    if (view.second) second.replaceChildren(makePlane({ role: "img" }, view.second).svg);
    const words = points.map(([x, y], i) =>
      [`${called[i]} at (${text(x)}, ${text(y)})`, view.marks[i]?.words].filter(Boolean).join(", "));
    const seen = [...points.keys()].filter((i) => !view.marks[i]?.hidden);
    plane.front.replaceChildren(...seen.map((i) => drawPoint(i, words[i], view.marks[i])));
    const numbers = Object.entries(view.facts).map(([title, value]) =>
      `${title}${/[≤≥]/.test(title) ? ":" : " ="} ${text(value)}`);
    facts.replaceChildren(...numbers.flatMap((fact) => [make("span", {}, fact), " "]));
    const here = news.includes(":") ? numbers.slice(0, 3).join(", ") : words[chosen()] ?? "No points.";
    status.textContent = news + (result.message || here);
    status.classList.toggle("board-warning", Boolean(result.message));
    for (const button of buttons) button.disabled = button.textContent === "Remove point" && !points.length;
    for (const { show } of controls) show();
  };

  // -- pointer and keys

  const keys = {
    ArrowLeft: go(-1, 0), ArrowRight: go(1, 0), ArrowUp: go(0, 1), ArrowDown: go(0, -1), n: () => turn(1),
    p: () => turn(-1), Backspace: !fixed && remove, ...Object.fromEntries(actions.map(([, key, act]) => [key, act])),
  };
  Object.assign(plane.svg, {
    onpointerdown: (event) => {
      const under = event.target.closest(".board-point");
      if (!under) return;
      event.preventDefault();
      plane.svg.focus({ preventScroll: true });
      plane.svg.setPointerCapture(event.pointerId);
      send("", { selected: +under.dataset.index });
    },
    onpointermove: (event) => {
      cursor = plane.at(event);
      if (plane.svg.hasPointerCapture(event.pointerId)) move(chosen(), cursor);
    },
    ondblclick: (event) => {
      if (event.target.closest(".board-point") || fixed) return;
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
