// The boards of a rendered page. Each is a picture with its configuration beside it; when it comes into view, the files
// that move it are loaded from the folder of this one (scripts, not modules: those do not load from file://).
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, ""), loaded = {};
  const script = (name) => (loaded[name] ??= new Promise((resolve, reject) => {
    const made = document.createElement("script");
    Object.assign(made, { src: `${folder}${name}.js`, async: false, onload: resolve, onerror: reject }); // in this order
    document.head.append(made);
  }));
  const load = (kind) => Promise.all(["solver", "numbers", "curves", "plane", "front", kind].map(script));

  const address = () => {
    try {
      return JSON.parse(decodeURIComponent(location.hash.match(/^#board=(.*)$/)?.[1] ?? "null"));
    } catch {
      return null; // not ours
    }
  };
  // What the address says, as far as it fits this board.
  const configure = (state) => {
    const { id, program, values, points } = address() ?? {}, known = state.programs.find((p) => p.name === program);
    const triple = (t) => Array.isArray(t) && t.length === 3 && t.every(Number.isFinite) && Math.abs(t[2]) === 1;
    if (id !== state.id || !known || !Array.isArray(points) || points.length > 200 || !points.every(triple)) return state;
    if (state.fixed && points.length !== state.points.length) return state;
    const fits = ({ name, options }) => (options ? options.includes(values?.[name]) : Number.isFinite(values?.[name]));
    const given = Object.fromEntries(known.parameters.filter(fits).map(({ name }) => [name, values[name]]));
    return { ...state, program, points, values: { ...state.values, [program]: { ...state.values[program], ...given } } };
  };

  // A model as a kernel has one; what changes within a frame is computed and drawn once.
  const makeModel = (state, told) => {
    let waiting = false, draw = () => {};
    const solve = () => {
      const { machine } = state.programs.find((p) => p.name === state.program);
      state.result = companionBoards.answer(state.kind, { ...state, machine, values: state.values[state.program] });
    };
    const frame = () => {
      waiting = false;
      solve();
      draw();
      told();
    };
    solve();
    const set = (name, value) => {
      state[name] = value;
      if (!waiting) waiting = requestAnimationFrame(frame) > 0;
    };
    return { get: (name) => state[name], set, save_changes: () => {}, on: (_, listener) => (draw = listener), off: () => {} };
  };

  // The cell that makes the board as it is now.
  const cellOf = ({ cell, points, program }, settings) => {
    const at = (sign) => points.filter((t) => !sign || t[2] === sign).map((t) => t.slice(0, 2));
    const parts = {
      BLUE: at(1), RED: at(-1), POINTS: at(0), XS: points.map(([x]) => x), YS: points.map(([, y]) => y), PROGRAM: program, VALUES: settings,
    };
    return cell.replace(/\b[A-Z]+\b/g, (name) => (name in parts ? JSON.stringify(parts[name]) : name));
  };

  const open = async (place) => {
    const state = configure(JSON.parse(place.querySelector("script[type='application/json']").textContent));
    try {
      await load(state.kind);
    } catch {
      return; // the picture stays
    }
    const { make } = companionBoards, cell = make("pre", { class: "board-cell", tabindex: "0", hidden: true }), holder = make("div");
    let timer = 0;
    const told = () => {
      const { id, program, points, values, programs } = state;
      const given = programs.find((p) => p.name === program).parameters.map(({ name }) => [name, values[program][name]]);
      const settings = Object.fromEntries(given), hash = JSON.stringify({ id, program, values: settings, points });
      cell.textContent = cellOf(state, settings);
      clearTimeout(timer);
      timer = setTimeout(() => history.replaceState(null, "", `#board=${encodeURIComponent(hash)}`), 300);
    };
    const button = make("button", {
      type: "button", "aria-expanded": "false",
      onclick: () => {
        if (cell.hidden) told();
        cell.hidden = !cell.hidden;
        button.setAttribute("aria-expanded", String(!cell.hidden));
      },
    }, "Open this in a notebook");
    companionBoards.render({ model: makeModel(state, told), el: holder });
    holder.querySelector(".board-buttons").append(button);
    holder.firstChild.append(cell);
    // The preset's picture stands in the output before the board's, on a phone cut into panels.
    const before = (img) => img.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING;
    const preset = [...(place.closest(".cell_output") ?? place.parentElement).querySelectorAll("img")].find(before);
    (preset?.closest(".panels") ?? preset)?.remove();
    place.replaceChildren(holder);
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
      if (address()?.id === place.id) place.scrollIntoView();
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
