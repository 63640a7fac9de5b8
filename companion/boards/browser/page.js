// The boards of a rendered page. Each is a picture with its configuration beside it; when it comes into view, the files
// that move it are loaded from the folder of this one (scripts, not modules: those do not load from file://).
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  const loaded = {};
  const script = (name) =>
    (loaded[name] ??= new Promise((resolve, reject) => {
      const made = document.createElement("script");
      Object.assign(made, { src: `${folder}${name}.js`, async: false, onload: resolve, onerror: reject }); // in this order
      document.head.append(made);
    }));
  const load = (kind) => Promise.all(["solver", "contours", "front", kind].map(script));

  const address = () => {
    try {
      return JSON.parse(decodeURIComponent(location.hash.match(/^#board=(.*)$/)?.[1] ?? "null"));
    } catch {
      return null; // not ours
    }
  };
  // What the address says, as far as it fits this board.
  const configure = (state) => {
    const { id, program, values, points } = address() ?? {};
    const known = state.programs.find((p) => p.name === program);
    const triple = (t) => Array.isArray(t) && t.length === 3 && t.every(Number.isFinite) && Math.abs(t[2]) === 1;
    if (id !== state.id || !known || !Array.isArray(points) || points.length > 200 || !points.every(triple)) return state;
    if (state.fixed && points.length !== state.points.length) return state;
    const given = { ...state.values[program] };
    for (const { name, options } of known.parameters) {
      if (options ? options.includes(values?.[name]) : Number.isFinite(values?.[name])) given[name] = values[name];
    }
    return { ...state, program, points, values: { ...state.values, [program]: given } };
  };

  // A model as a kernel has one; what changes within a frame is computed and drawn once.
  const makeModel = (state, told) => {
    const listeners = [], changed = new Set();
    const solve = () => {
      const { machine } = state.programs.find((p) => p.name === state.program);
      state.result = companionBoards.kinds[state.kind].solve({ ...state, machine, values: state.values[state.program] });
    };
    const frame = () => {
      if ([...changed].some((name) => name !== "selected")) {
        solve();
        changed.add("result");
      }
      const due = new Set(listeners.filter(([event]) => changed.has(event.slice(7))).map(([, listener]) => listener));
      changed.clear();
      due.forEach((listener) => listener());
      told();
    };
    solve();
    return {
      get: (name) => state[name],
      set: (name, value) => {
        state[name] = value;
        if (!changed.size) requestAnimationFrame(frame);
        changed.add(name);
      },
      save_changes: () => {},
      on: (event, listener) => listeners.push([event, listener]),
      off: () => {},
    };
  };

  // The preset's picture stands in the output before the board's.
  const picture = (place) => [...(place.closest(".cell_output") ?? place.parentElement).querySelectorAll("img")].find(
    (img) => img.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING);

  const open = async (place) => {
    const state = configure(JSON.parse(place.querySelector("script[type='application/json']").textContent));
    try {
      await load(state.kind);
    } catch {
      return; // the picture stays
    }
    let timer = 0;
    const cell = document.createElement("pre");
    cell.className = "board-cell";
    cell.tabIndex = 0;
    cell.hidden = true;
    const told = () => {
      const { id, program, points, values, programs } = state;
      const given = programs.find((p) => p.name === program).parameters.map(({ name }) => [name, values[program][name]]);
      const settings = Object.fromEntries(given);
      const shown = (sign) => JSON.stringify(points.filter((t) => !sign || t[2] === sign).map((t) => t.slice(0, 2)));
      cell.textContent = state.cell.replace("BLUE", shown(1)).replace("RED", shown(-1)).replace("POINTS", shown(0)).replace("PROGRAM", JSON.stringify(program))
        .replace("VALUES", JSON.stringify(settings));
      clearTimeout(timer);
      timer = setTimeout(() => {
        history.replaceState(null, "", `#board=${encodeURIComponent(JSON.stringify({ id, program, values: settings, points }))}`);
      }, 300);
    };
    const model = makeModel(state, told);
    const holder = document.createElement("div");
    companionBoards.render({ model, el: holder });
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Open this in a notebook";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      if (cell.hidden) told();
      cell.hidden = !cell.hidden;
      button.setAttribute("aria-expanded", String(!cell.hidden));
    });
    holder.querySelector(".board-buttons").append(button);
    holder.firstChild.append(cell);
    place.replaceChildren(holder);
    picture(place)?.remove();
    place.board = state; // for tests
  };

  const start = () => {
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
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
