// The boards of a rendered page. Each is a picture with its configuration beside it; when it comes into view, the files
// that move it are loaded from the folder of this one (scripts, not modules: those do not load from file://).
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  const script = (name) => new Promise((resolve, reject) => {
    const made = document.createElement("script"), src = `${folder}${name}.js`; // not async: in this order
    document.head.append(Object.assign(made, { src, async: false, onload: resolve, onerror: reject }));
  });
  const load = (kind) => Promise.all(["solver", "numbers", "curves", "plane", "front", kind].map(script));

  const address = () => {
    try {
      return JSON.parse(decodeURIComponent(location.hash.match(/^#board=(.*)$/)?.[1])) ?? {};
    } catch {
      return {}; // not ours
    }
  };
  // What the address says, as far as it fits this board.
  const configure = (state) => {
    const { id, values, points } = address(), { parameters, fixed, start } = state.config;
    const triple = (t) => Array.isArray(t) && t.length === 3 && t.every(Number.isFinite) && Math.abs(t[2]) === 1;
    if (id !== state.id || !Array.isArray(points) || !points.every(triple)) return;
    if (fixed ? points.length !== start.length : points.length > 200) return;
    const fits = ({ name, options }) => options?.includes(values?.[name]) ?? Number.isFinite(values?.[name]);
    for (const { name } of parameters.filter(fits)) state.values[name] = values[name];
    state.points = points;
  };

  // The cell that makes the board as it is now.
  const cellOf = ({ config: { kind, limits }, points, values }) => {
    const [name, ...given] = companionBoards.kinds[kind].call(points.map(([x, y]) => [x, y]), points.map((t) => t[2]));
    const named = Object.entries({ limits, ...values }).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    const lines = [...given.map((t) => JSON.stringify(t)), named.join(", ")];
    return `from companion.boards import ${name}\n\n${name}(\n    ${lines.join(",\n    ")},\n)`;
  };

  // The preset's picture stands before the board in the output, on a phone cut into panels.
  const clear = (place) => {
    const output = place.closest(".cell_output") ?? place.parentElement;
    const shown = [...output.querySelectorAll("img, .companion-board-static")];
    const preset = shown[shown.indexOf(place) - 1];
    (preset?.closest(".panels") ?? preset)?.remove();
    place.replaceChildren();
  };
  const open = async (place) => {
    const state = place.board = JSON.parse(place.querySelector("script[type='application/json']").textContent);
    configure(state);
    await load(state.config.kind); // if that fails, the picture stays
    const { make } = companionBoards, cell = make("pre", { class: "board-cell", tabindex: "0" });
    let timer = 0, draw;
    const tell = () => {
      const { id, values, points } = state, hash = encodeURIComponent(JSON.stringify({ id, values, points }));
      cell.textContent = cellOf(state);
      clearTimeout(timer);
      timer = setTimeout(() => history.replaceState(null, "", `#board=${hash}`), 300);
    };
    // As a kernel has it. The browser sends the moves of a pointer once for each frame.
    const model = {
      get: (name) => state[name], set: (name, value) => (state[name] = value), off() {},
      on: (_, listener) => (draw = listener), save_changes: () => [draw, tell].forEach((each) => each()),
    };
    clear(place);
    companionBoards.render({ model, el: place });
    const code = make("details", { ontoggle: tell }, make("summary", {}, "Open this in a notebook"), cell);
    place.querySelector(".board-figure").append(code);
  };

  const seen = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter(({ isIntersecting }) => isIntersecting)) {
      seen.unobserve(target);
      open(target);
    }
  }, { rootMargin: "600px" });
  window.companionBoard = (place) => seen.observe(place);
  document.addEventListener("DOMContentLoaded", () => {
    const places = [...document.querySelectorAll(".companion-board-static")];
    places.forEach(window.companionBoard);
    places.find(({ id }) => id === address().id)?.scrollIntoView();
  });
})();
