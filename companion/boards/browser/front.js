// What all boards share: points that are dragged, added and removed by mouse, touch and keyboard, sliders, presets, a table,
// and words for those who listen. A board (companionBoards.kinds) says what to draw for a result.
//
// The model is a kernel's (anywidget) or that of page.js. It owns `result`; this file owns `points`, `selected`, `program`
// and `values`. Nothing is loaded from anywhere.
companionBoards.render = ({ model, el }) => {
  const { make, niceStep, makePlane, numbers: { text } } = companionBoards;
  const get = (name) => model.get(name), board = companionBoards.kinds[get("kind")], free = board.adds.length > 0;
  const [left, right, bottom, top] = get("limits"), step = niceStep(Math.min(right - left, top - bottom)) / 10;
  const program = () => get("programs").find(({ name }) => name === get("program"));
  const values = () => get("values")[get("program")];
  const chosen = () => Math.min(get("selected"), get("points").length - 1);

  // -- changes

  let news = "", cursor = [(left + right) / 2, (bottom + top) / 2]; // what the last change was, in words; where a point is added
  const send = (words, changes) => {
    news = words;
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const near = (t, low, high) => Math.min(Math.max(+(Math.round((t / step) * 10) * (step / 10)).toFixed(10), low), high);
  const place = ([x, y], sign) => [near(x, left, right), near(y, bottom, top), sign];
  const move = (i, at) => send("", { points: get("points").map((p, k) => (k === i ? place(at, p[2]) : p)) });
  const add = ([sign, name]) =>
    send(`Added a ${name}. `, { points: [...get("points"), place(cursor, sign)], selected: get("points").length });
  const remove = () => {
    const i = chosen(), points = get("points").filter((_, k) => k !== i);
    if (i >= 0) send(`Removed ${names()[i]}. `, { points, selected: Math.max(i - 1, 0) });
  };
  const restart = () => send("Started again. ", { points: get("start"), selected: 0 });
  const turn = (by) => chosen() >= 0 && send("", { selected: (chosen() + by + get("points").length) % get("points").length });
  const go = (dx, dy) => (far) => {
    const point = get("points")[chosen()];
    if (point) move(chosen(), [point[0] + far * dx, point[1] + far * dy]);
  };

  // -- choices and sliders; `show` shows the value

  const control = ({ letter, options, low, high, log, value, change, when = () => true }) => {
    const [put, take] = log ? [Math.log10, (t) => 10 ** t] : [(t) => t, (t) => t];
    const input = options
      ? make("select", { onchange: () => change(input.value) }, ...options.map((name) => make("option", { value: name }, name)))
      : make("input", {
        type: "range", min: put(low), max: put(high), step: log ? 0.05 : 0.01,
        oninput: () => change(+take(+input.value).toPrecision(3)),
      });
    const shown = make("output"), label = make("label", {}, `${letter} `, input, ...(options ? [] : [shown]));
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
  let controls = [], own = "";
  const showControls = () => {
    if (own !== get("program")) fillSliders();
    controls.forEach(({ show }) => show());
  };
  const fillSliders = () => {
    const mine = own = get("program");
    const made = program().parameters.map(({ name, when, ...rest }) => control({
      ...rest, value: () => values()[name], when: when && (() => values()[when[0]] === when[1]),
      change: (value) => send(`${rest.letter} = ${text(value)}: `, {
        values: { ...get("values"), [mine]: { ...get("values")[mine], [name]: value } },
      }),
    }));
    sliders.replaceChildren(...made.map(({ label }) => label));
    controls = [programs, presets, ...made];
  };

  // -- the parts of the page

  const sliders = make("span", { class: "board-sliders" });
  const button = (words, key, onclick) => make("button", { type: "button", "aria-keyshortcuts": key, onclick }, words);
  const removal = button("Remove point", "Delete", remove);
  const help = make("p", { class: "board-help", id: `board-${Math.random().toString(36).slice(2)}` },
    `Drag a point${free ? ", or double-click to add one" : ""}${board.adds.length > 1 ? " (with Shift: a red one)" : ""}. `
    + "Keys: n and p choose the next and the previous point, the arrows move it (with Shift: far), "
    + `${board.adds.map(([, name, key]) => `${key} adds a ${name}, `).join("")}${free ? "Delete removes, " : ""}Escape starts again.`);
  const plane = makePlane({
    tabindex: "0", role: "application", "aria-roledescription": "board of points", "aria-label": board.label,
    "aria-describedby": help.id,
  }, board.equal);
  plane.show(get("limits"));
  const second = board.second ? makePlane({ role: "img", "aria-label": board.second }, !board.wide, board.bare) : { svg: "" };
  const status = make("p", { class: "board-status", role: "status", "aria-live": "polite" });
  const facts = make("p", { class: "board-facts" }), body = make("tbody");
  const titles = ["point", ...board.axes, ...board.head].map((title) => make("th", { scope: "col" }, title));
  const adding = board.adds.map((kind) => button(`Add ${kind[1]}`, kind[2], () => add(kind)));
  const root = make("div", { class: "companion-board", "data-lm-suppress-shortcuts": "true" },
    make("div", { class: "board-controls" }, programs.label, sliders, presets.label),
    make("div", { class: "board-main" },
      make("div", { class: "board-figure" }, plane.svg,
        make("div", { class: "board-buttons" }, ...adding, ...(free ? [removal] : []), button("Start again", "Escape", restart)), help),
      make("div", { class: "board-side" }, second.svg, status, facts,
        make("table", {}, make("thead", {}, make("tr", {}, ...titles)), body))));
  for (const [name, value] of Object.entries(get("colors"))) root.style.setProperty(`--board-${name}`, value);
  el.append(root);

  // -- drawing

  const names = () => {
    const seen = {}; // "blue point": blue 1, blue 2
    const called = (sign) => board.adds.find((kind) => kind[0] === sign)[1].replace(" point", "");
    return get("points").map(([, , s], i) => board.names?.[i] ?? `${called(s)} ${(seen[s] = (seen[s] ?? 0) + 1)}`);
  };
  const drawPoint = ([x, y, s], i, label, { size = 0.5, colour = board.colour(s), active, ring, cross }) => {
    const [cx, cy, r] = [plane.x(x), plane.y(y), 5 + 4 * size], circle = (name, radius) => make("circle", { class: name, cx, cy, r: radius });
    const group = { class: `board-point ${colour}${active ? " active" : ""}`, role: "img", "aria-label": label, "data-index": i };
    return make("g", group,
      colour !== "red" ? circle("dot", r) : make("rect", { class: "dot", x: cx - r + 0.5, y: cy - r + 0.5, width: 2 * r - 1, height: 2 * r - 1 }),
      ...(i === chosen() ? [circle("chosen", 15)] : []), ...(ring ? [circle("ring", r + 4)] : []),
      ...(cross ? [make("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0-8l-8 8` })] : []), circle("grip", 16));
  };
  const draw = () => {
    const result = get("result"), points = get("points"), { machine } = program(), at = chosen(), label = names();
    const fresh = result.solved && result.size === points.length; // a kernel may still be at work
    const { marks = [], shapes = [], facts: found = [], second: other } = fresh
      ? board.view(result, { points, limits: get("limits"), values: values(), machine }) : {};
    plane.draw(shapes);
    if (other) {
      second.show(other.limits);
      second.draw(other.shapes);
    }
    const rows = points.map(([x, y], i) => {
      const cells = [x, y, ...(marks[i]?.cells ?? board.head.map(() => ""))].map(text), chosenOne = i === at;
      const rest = fresh ? cells.slice(2).map((cell, k) => `, ${board.head[k]} ${cell}`) : [];
      return { i, cells, chosenOne, words: `${label[i]} at (${cells[0]}, ${cells[1]})${rest.join("")}` };
    }).filter(({ i }) => !marks[i]?.hidden);
    plane.front.replaceChildren(...rows.map(({ i, words }) => drawPoint(points[i], i, words, marks[i] ?? {})));
    body.replaceChildren(...rows.map(({ i, cells, chosenOne }) =>
      make("tr", { class: chosenOne ? "chosen" : "", "aria-current": String(chosenOne), onclick: () => send("", { selected: i }) },
        make("th", { scope: "row" }, label[i]), ...cells.map((cell) => make("td", {}, cell)))));
    const numbers = found.map(([title, value]) => `${title}${/[≤≥]/.test(title) ? ":" : " ="} ${text(value)}`);
    facts.replaceChildren(...numbers.flatMap((words) => [make("span", {}, words), " "]));
    const here = rows.find(({ chosenOne }) => chosenOne)?.words ?? "No points.";
    status.textContent = news + (result.message || (news.includes(":") ? numbers.slice(0, 3).join(", ") : here));
    status.classList.toggle("board-warning", Boolean(result.message));
    removal.disabled = at < 0;
    showControls();
  };

  // -- pointer and keys

  let dragged = null;
  const drop = () => (dragged = null);
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
      add(board.adds.at(event.shiftKey ? -1 : 0));
    },
    onkeydown: (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      keys[event.key](event.shiftKey ? 10 : 1);
      event.preventDefault();
    },
  });
  const keys = {
    ArrowLeft: go(-step, 0), ArrowRight: go(step, 0), ArrowUp: go(0, step), ArrowDown: go(0, -step),
    n: () => turn(1), p: () => turn(-1), Escape: restart, ...(free ? { Delete: remove, Backspace: remove } : {}),
    ...Object.fromEntries(board.adds.map((kind) => [kind[2], () => add(kind)])),
  };
  root.onkeydown = (event) => event.stopPropagation(); // a notebook has its own meaning for keys

  draw();
  model.on("change", draw);
  return () => model.off("change", draw);
};
