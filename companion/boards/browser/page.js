// The boards of a rendered page. Each is a picture with its configuration beside it; when it comes into view, the files
// that move it are loaded from the folder of this one (scripts, not modules: those do not load from file://).
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, ""), loaded = {};
  const script = (name) => (loaded[name] ??= new Promise((resolve, reject) => {
    const made = document.createElement("script"), src = `${folder}${name}.js`; // not async: in this order
    document.head.append(Object.assign(made, { src, async: false, onload: resolve, onerror: reject }));
  }));
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
    const { id, program, values, points } = address(), known = state.programs.find((p) => p.name === program);
    const triple = (t) => Array.isArray(t) && t.length === 3 && t.every(Number.isFinite) && Math.abs(t[2]) === 1;
    if (id !== state.id || !known || !Array.isArray(points) || !points.every(triple)) return state;
    if (state.fixed ? points.length !== state.points.length : points.length > 200) return state;
    const fits = ({ name, options }) => options?.includes(values?.[name]) ?? Number.isFinite(values?.[name]);
    const given = Object.fromEntries(known.parameters.filter(fits).map(({ name }) => [name, values[name]]));
    Object.assign(state.values[program], given);
    return { ...state, program, points };
  };

  // A model as a kernel has one. The browser sends the moves of a pointer once for each frame.
  const makeModel = (state, told) => {
    let draw;
    const solve = () => {
      const { machine } = state.programs.find((p) => p.name === state.program);
      state.result = companionBoards.answer(state.kind, { ...state, machine, values: state.values[state.program] });
    };
    const save = () => {
      solve();
      draw();
      told();
    };
    solve();
    return {
      get: (name) => state[name], set: (name, value) => (state[name] = value), save_changes: save,
      on: (_, listener) => (draw = listener), off() {},
    };
  };

  // The cell that makes the board as it is now.
  const cellOf = ({ cell, points, program }, values) => {
    const at = (...signs) => points.filter((t) => signs.includes(t[2])).map((t) => t.slice(0, 2));
    const [XS, YS] = [0, 1].map((k) => points.map((t) => t[k]));
    const parts = { BLUE: at(1), RED: at(-1), POINTS: at(1, -1), XS, YS, PROGRAM: program, VALUES: values };
    return cell.replace(/\b[A-Z]+\b/g, (name) => (name in parts ? JSON.stringify(parts[name]) : name));
  };

  const open = async (place) => {
    const state = configure(JSON.parse(place.querySelector("script[type='application/json']").textContent));
    try {
      await load(state.kind);
    } catch {
      return; // the picture stays
    }
    const { make } = companionBoards, cell = make("pre", { class: "board-cell", tabindex: "0" });
    let timer = 0;
    const told = () => {
      const { id, program, points, programs } = state, { parameters } = programs.find((p) => p.name === program);
      const values = Object.fromEntries(parameters.map(({ name }) => [name, state.values[program][name]]));
      const hash = encodeURIComponent(JSON.stringify({ id, program, values, points }));
      cell.textContent = cellOf(state, values);
      clearTimeout(timer);
      timer = setTimeout(() => history.replaceState(null, "", `#board=${hash}`), 300);
    };
    // The preset's picture stands before the board in the output, on a phone cut into panels.
    const output = place.closest(".cell_output") ?? place.parentElement;
    const shown = [...output.querySelectorAll("img, .companion-board-static")];
    const preset = shown[shown.indexOf(place) - 1];
    (preset?.closest(".panels") ?? preset)?.remove();
    place.replaceChildren();
    companionBoards.render({ model: makeModel(state, told), el: place });
    const summary = make("summary", {}, "Open this in a notebook");
    place.querySelector(".board-figure").append(make("details", { ontoggle: told }, summary, cell));
    place.board = state; // for tests
  };

  const start = () => {
    const seen = new IntersectionObserver((entries) => {
      for (const { target } of entries.filter(({ isIntersecting }) => isIntersecting)) {
        seen.unobserve(target);
        open(target);
      }
    }, { rootMargin: "600px" });
    for (const place of document.querySelectorAll(".companion-board-static")) {
      seen.observe(place);
      if (address().id === place.id) place.scrollIntoView();
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
