// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, select boxes,
// sliders, presets, and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `config` and `result`; this file changes `points`,
// `selected` and `values`. Nothing is loaded from anywhere.
companionBoards.render = ({ model, el }) => {
  const { make, niceStep, makePlane, numbers: { text } } = companionBoards;
  const get = (name) => model.get(name), { kind, start, limits, parameters, presets, fixed, colors } = get("config");
  const board = { adds: [[1, "point", "a"]], ...companionBoards.kinds[kind] }, adds = fixed ? [] : board.adds;
  const [left, right, bottom, top] = limits, step = niceStep(Math.min(right - left, top - bottom)) / 10;
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
  const restart = () => send("Started again. ", { points: start, selected: 0 });
  const turn = (by) => {
    const count = get("points").length;
    if (count) send("", { selected: (chosen() + by + count) % count });
  };
  const go = (dx, dy) => (far) => {
    const point = get("points")[chosen()];
    if (point) move(chosen(), [point[0] + far * dx, point[1] + far * dy]);
  };

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

  const button = (words, key, onclick) => make("button", { type: "button", "aria-keyshortcuts": key, onclick }, words);
  const removal = button("Remove point", "Delete", remove);
  const buttons = adds.map((each) => button(`Add ${each[1]}`, each[2], () => add(each))).concat(fixed ? [] : removal);
  const help = make("p", { class: "board-help", id: `board-${Math.random().toString(36).slice(2)}` },
    `Drag a point${fixed ? "" : ", or double-click to add one"}${adds.length > 1 ? " (with Shift: a red one)" : ""}. `
    + "Keys: n and p choose the next and the previous point, the arrows move it (with Shift: far), "
    + `${adds.map(([, name, key]) => `${key} adds a ${name}, `).join("")}${fixed ? "" : "Delete removes, "}`
    + "Escape starts again.");
  const roles = { tabindex: "0", role: "application", "aria-roledescription": "board of points" };
  const plane = makePlane({ ...roles, "aria-describedby": help.id }, board);
  plane.show(limits);
  const second = board.second && makePlane({ role: "img" }, board.second);
  const status = make("p", { class: "board-status", role: "status", "aria-live": "polite" });
  const facts = make("p", { class: "board-facts" });
  const root = make("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" },
    make("div", { class: "board-controls" }, ...controls.map(({ label }) => label)),
    make("div", { class: "board-main" },
      make("div", { class: "board-figure" }, plane.svg,
        make("div", { class: "board-buttons" }, ...buttons, button("Start again", "Escape", restart)), help),
      make("div", { class: "board-side" }, ...(second ? [second.svg] : []), status, facts)));
  for (const [name, value] of Object.entries(colors)) root.style.setProperty(`--board-${name}`, value);
  el.append(root);

  // -- drawing

  const names = () => {
    const seen = {}; // "blue point": blue 1, blue 2
    const called = (sign) => board.adds.find((each) => each[0] === sign)[1].replace(" point", "");
    return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
  };
  const drawPoint = (i, label, { size = 0.5, colour, active, ring, cross }) => {
    const [x, y, sign] = get("points")[i], r = 5 + 4 * size;
    const kept = colour ?? (adds.length < 2 ? "grey" : sign > 0 ? "blue" : "red"), corner = kept === "red" ? 0 : r;
    const circle = (name, radius) => make("circle", { class: name, r: radius });
    return make("g", {
      class: `board-point ${kept}${active ? " active" : ""}`, transform: `translate(${plane.x(x)} ${plane.y(y)})`,
      role: "img", "aria-label": label, "data-index": i,
    }, make("rect", { class: "dot", x: -r, y: -r, width: 2 * r, height: 2 * r, rx: corner }),
    ...(i === chosen() ? [circle("chosen", 15)] : []), ...(ring ? [circle("ring", r + 4)] : []),
    ...(cross ? [make("path", { class: "cross", d: "M-4 -4l8 8m0-8l-8 8" })] : []), circle("grip", 16));
  };
  const draw = () => {
    const result = get("result"), points = get("points"), called = names();
    const fresh = result.solved && result.size === points.length; // a kernel may still be at work
    const given = { points, limits, values: get("values") };
    const view = { marks: [], shapes: [], facts: {}, ...(fresh && board.view(result, given)) };
    plane.draw(view.shapes);
    if (view.second) {
      second.show(view.second.limits);
      second.draw(view.second.shapes);
    }
    const words = points.map(([x, y], i) =>
      [`${called[i]} at (${text(x)}, ${text(y)})`, view.marks[i]?.words].filter(Boolean).join(", "));
    const seen = [...points.keys()].filter((i) => !view.marks[i]?.hidden);
    plane.front.replaceChildren(...seen.map((i) => drawPoint(i, words[i], view.marks[i] ?? {})));
    const numbers = Object.entries(view.facts).map(([title, value]) =>
      `${title}${/[≤≥]/.test(title) ? ":" : " ="} ${text(value)}`);
    facts.replaceChildren(...numbers.flatMap((fact) => [make("span", {}, fact), " "]));
    const here = news.includes(":") ? numbers.slice(0, 3).join(", ") : words[chosen()] ?? "No points.";
    status.textContent = news + (result.message || here);
    status.classList.toggle("board-warning", Boolean(result.message));
    removal.disabled = points.length === 0;
    for (const { show } of controls) show();
  };

  // -- pointer and keys

  let dragged = null;
  const drop = () => (dragged = null);
  const keys = {
    ArrowLeft: go(-step, 0), ArrowRight: go(step, 0), ArrowUp: go(0, step), ArrowDown: go(0, -step),
    n: () => turn(1), p: () => turn(-1), Escape: restart, ...(fixed ? {} : { Delete: remove, Backspace: remove }),
    ...Object.fromEntries(adds.map((each) => [each[2], () => add(each)])),
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
