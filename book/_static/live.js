// Runs the cells of a page in the reader's browser: Pyodide in a worker, an editor for each cell. Nothing is loaded, and the
// page is as it was stored, until the reader asks for it.
(() => {
  "use strict";

  const HERE = new URL(".", document.currentScript.src); // _static/
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const STORE = `companion-live:${location.pathname}`;

  // -- the worker; it is made of this function's text, since a page from the disk may not name a script for a worker

  function work() {
    const files = {};
    const nameOf = (place) => String(place).split("/").pop();
    const load = self.importScripts.bind(self);
    self.importScripts = (place) => load(URL.createObjectURL(new Blob([files[nameOf(place)]], { type: "text/javascript" })));
    self.fetch = async (place) => {
      const type = nameOf(place).endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(files[nameOf(place)], { headers: { "content-type": type } });
    };
    let kernel;
    async function start({ parts, lock, base, packages }) {
      Object.assign(files, parts, { "pyodide-lock.json": JSON.stringify(lock) });
      self.importScripts("pyodide.js");
      const pyodide = await self.loadPyodide({ indexURL: base, lockFileURL: base + "pyodide-lock.json" });
      const home = "/lib/python3.12/site-packages";
      for (const name of packages) {
        pyodide.unpackArchive(files[`${name}.zip`], "zip", { extractDir: home });
        delete files[`${name}.zip`];
        if (name === "openblas") await pyodide._api.loadDynlib(`${home}/libopenblas.so`, true, []);
      }
      kernel = pyodide.pyimport("companion_page");
      kernel.start((text) => self.postMessage({ kind: "output", output: JSON.parse(text) }));
      self.postMessage({ kind: "ready" });
    }
    self.onmessage = async ({ data }) => {
      try {
        if (data.kind === "start") await start(data);
        else self.postMessage({ kind: "done", ok: kernel.run(data.code) });
      } catch (error) {
        self.postMessage({ kind: "failed", message: String(error.message ?? error) });
      }
    };
  }

  // -- what is loaded

  async function unzipped(response, told) {
    const count = new TransformStream({ transform(chunk, out) { told(chunk.byteLength); out.enqueue(chunk); } });
    return response.body.pipeThrough(count);
  }

  async function fetched(place, told) {
    const response = await fetch(place);
    if (!response.ok) throw new Error(`${place.pathname.split("/").pop()} is not there`);
    let stream = await unzipped(response, told);
    if (place.pathname.endsWith(".gz")) stream = stream.pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function script(name) {
    return new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = new URL(name, HERE);
      element.onload = done;
      element.onerror = () => failed(new Error(`${name} is not there`));
      document.head.append(element);
    });
  }

  function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  }
  const button = (text, onclick, className = "") => make("button", { type: "button", textContent: text, onclick, className });

  // -- outputs, drawn as the stored ones are

  function draw(cell, output) {
    const place = cell.output;
    const add = (...children) => {
      const box = make("div", { className: "output text_html" }, ...children);
      place.append(box);
      return box;
    };
    if (output.output_type === "clear") place.replaceChildren();
    else if (output.output_type === "stream" || output.output_type === "error") {
      const kind = output.name ?? "stderr";
      const text = output.text ?? output.traceback.join("\n");
      let pre = place.lastElementChild?.matches?.(`.stream.${kind}`) ? place.lastElementChild.querySelector("pre") : null;
      if (!pre) {
        pre = make("pre");
        place.append(make("div", { className: `output stream ${kind} highlight-myst-ansi` }, make("div", { className: "highlight" }, pre)));
      }
      pre.append(text);
    } else {
      const { data, metadata, widgets } = output;
      if (data[VIEW] && widgets) {
        const book = window.companionFlipbook?.(widgets, data[VIEW].model_id);
        if (book) add(book);
      } else if (data["image/png"]) {
        const image = make("img", { src: `data:image/png;base64,${data["image/png"].trim()}`, alt: metadata["image/png"]?.alt ?? "A picture drawn by the cell" });
        add(image).classList.add("image_png");
        window.stackPanels?.(image);
      } else if (data["text/html"]) {
        const box = add();
        box.innerHTML = data["text/html"];
        box.querySelectorAll(".companion-board-static").forEach((board) => window.companionBoard?.(board));
      } else if (data["text/latex"]) {
        const box = add(data["text/latex"]);
        window.MathJax?.typesetPromise?.([box]);
      } else if (data["text/plain"]) {
        place.append(make("div", { className: "output text_plain highlight-myst-ansi" }, make("div", { className: "highlight" }, make("pre", { textContent: data["text/plain"] }))));
      }
    }
  }

  // -- a cell

  class Cell {
    constructor(box, number, page) {
      Object.assign(this, { box, number, page, done: false, outputs: [] });
      this.shown = box.querySelector(".cell_input .highlight") ?? box.querySelector(".cell_input");
      this.original = box.querySelector(".cell_input pre").textContent.replace(/\n$/, "");
      this.output = box.querySelector(".cell_output");
      if (!this.output) box.append((this.output = make("div", { className: "cell_output docutils container" })));
      this.stored = [...this.output.childNodes];
      this.note = make("span", { className: "live-note" });
      this.again = button("Start over", () => this.reset());
      this.again.setAttribute("aria-label", `Start over with code cell ${number}`);
      const run = button("Run", () => page.run(this), "live-run");
      run.setAttribute("aria-label", `Run code cell ${number}`);
      this.bar = make("div", { className: "live-bar" }, run, this.again, this.note);
      this.editor = this.edit();
      this.set(page.edits[number]?.[0] === this.original ? page.edits[number][1] : this.original);
      this.shown.hidden = true;
      this.shown.before(this.editor.dom);
      this.editor.dom.after(this.bar);
    }

    edit() {
      const C = window.CodeMirror, { page } = this;
      const keys = [
        { key: "Shift-Enter", run: () => { page.run(this); page.after(this)?.editor.focus(); return true; } },
        { key: "Mod-Enter", run: () => { page.run(this); return true; } },
        { key: "Escape", run: (view) => { view.setTabFocusMode(2000); page.say("Tab leaves the editor now."); return true; } },
        C.indentWithTab,
      ];
      return new C.EditorView({ extensions: [
        C.history(), C.Prec.highest(C.keymap.of(keys)), C.keymap.of([...C.defaultKeymap, ...C.historyKeymap]), C.python(),
        C.indentUnit.of("    "), C.bracketMatching(), C.syntaxHighlighting(page.colours),
        C.EditorView.contentAttributes.of({ "aria-label": `Code cell ${this.number}` }),
        C.EditorView.updateListener.of((update) => { if (update.docChanged) this.changed(); }),
      ] });
    }

    get code() { return this.editor.state.doc.toString(); }
    set(code) { this.editor.dispatch({ changes: { from: 0, to: this.editor.state.doc.length, insert: code } }); }

    changed() {
      const changed = this.code !== this.original;
      this.done = false;
      this.note.textContent = changed ? "changed by you" : "";
      this.again.hidden = !changed && !this.fresh;
      this.page.keep(this, changed);
    }

    begin() {
      this.fresh = true;
      this.outputs = [];
      this.box.classList.add("live-running");
      this.box.classList.toggle("in-slider", this.box.classList.contains("in-slider") && this.code === this.original);
      this.height = this.output.offsetHeight;
      this.output.style.minHeight = `${this.height}px`; // the text below stands still
      this.output.replaceChildren();
    }

    show(output) {
      this.outputs.push(output);
      draw(this, output);
    }

    end(ok) {
      this.done = ok;
      this.again.hidden = false;
      this.box.classList.remove("live-running");
      this.output.style.minHeight = "";
      this.box.classList.toggle("live-failed", !ok);
    }

    reset() {
      this.set(this.original);
      this.output.replaceChildren(...this.stored);
      this.fresh = this.done = false;
      this.again.hidden = true;
      this.box.classList.remove("live-running", "live-failed");
    }
  }

  // -- the page

  class Page {
    constructor(start, told) {
      this.queue = [];
      this.cells = [];
      this.edits = JSON.parse(localStorage.getItem(STORE) ?? "{}");
      this.needs = told;
      this.status = make("span", { className: "live-status" });
      this.status.setAttribute("role", "status");
      this.progress = make("progress", { max: 1, value: 0 });
      this.progress.setAttribute("aria-label", "Loading Python");
      this.tools = make("div", { className: "live-tools" }, this.progress, this.status);
      start.replaceWith(this.tools);
    }

    say(text) { this.status.textContent = text; }

    async open() {
      const list = await (await fetch(new URL("live/list.json", HERE))).json();
      const base = new URL("live/", HERE);
      const core = Object.keys(list.core), { packages } = this.needs;
      const total = [...core.map((n) => list.core[n]), ...packages.map((n) => list.packages[n].size)].reduce((a, b) => a + b, 0);
      let sum = 0;
      const told = (bytes) => {
        sum += bytes;
        this.progress.value = sum / total;
        this.say(`Loading: ${(sum / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`);
      };
      const names = [...core.map((n) => `${n}.gz`), ...packages.map((n) => `${n}.zip`)];
      const [, ...parts] = await Promise.all([
        script("vendor/codemirror/codemirror.js"), ...names.map((name) => fetched(new URL(name, base), told)),
      ]);
      this.parts = Object.fromEntries(names.map((name, i) => [name.replace(/\.gz$/, ""), parts[i]]));
      Object.assign(this, { lock: list.lock, base: base.href, packages });
      this.makeCells();
      this.boot();
    }

    makeCells() {
      const { HighlightStyle, tags } = window.CodeMirror;
      const colours = { keyword: "keyword", string: "string", comment: "comment", number: "number", operator: "operator" };
      this.colours = HighlightStyle.define(Object.entries(colours).map(([tag, name]) => ({ tag: tags[tag], class: `live-${name}` })));
      const boxes = [...document.querySelectorAll(".bd-article div.cell")].filter((box) => box.querySelector(".cell_input pre"));
      this.cells = boxes.map((box, i) => new Cell(box, i + 1, this));
      this.stopper = button("Stop", () => this.stop());
      this.forget = button("Forget my changes", () => { this.cells.forEach((cell) => cell.set(cell.original)); });
      this.tools.prepend(button("Run all", () => this.run(this.cells.at(-1), true)), this.stopper, button("Start over", () => this.startOver()), this.forget);
      this.forget.hidden = !Object.keys(this.edits).length;
    }

    boot() {
      this.ready = false;
      const url = URL.createObjectURL(new Blob([`(${work})()`], { type: "text/javascript" }));
      this.worker = new Worker(url);
      this.worker.onmessage = ({ data }) => this.hear(data);
      this.worker.onerror = (event) => this.hear({ kind: "failed", message: event.message });
      const { parts, lock, base, packages } = this;
      this.say("Python starts …");
      this.worker.postMessage({ kind: "start", parts, lock, base, packages });
    }

    hear(data) {
      if (data.kind === "output") this.current?.show(data.output);
      else if (data.kind === "ready") {
        this.ready = true;
        this.progress.hidden = true;
        this.say("Python is ready. Shift+Enter runs a cell.");
        this.tools.dataset.state = "ready";
        this.next();
      } else {
        const cell = this.current;
        if (data.kind === "failed") this.say(`Python stopped: ${data.message}`);
        if (!cell) return;
        cell.end(data.ok === true);
        this.current = null;
        if (data.ok) this.next();
        else {
          this.queue = [];
          if (data.kind === "done") this.say(`Code cell ${cell.number} ended with an error.`);
        }
      }
    }

    next() {
      if (!this.ready || this.current) return;
      this.current = this.queue.shift() ?? null;
      this.stopper.disabled = !this.current;
      if (!this.current) {
        if (this.ran) this.say("Done.");
        return;
      }
      this.ran = true;
      this.say(`Code cell ${this.current.number} of ${this.cells.length} runs …`);
      this.current.begin();
      this.worker.postMessage({ kind: "run", code: this.current.code });
    }

    // A cell runs after those above that have not run.
    run(cell, all = false) {
      const above = this.cells.slice(0, this.cells.indexOf(cell)).filter((c) => all || !c.done);
      this.queue.push(...[...above, cell].filter((c) => c !== this.current && !this.queue.includes(c)));
      this.next();
    }

    after(cell) { return this.cells[this.cells.indexOf(cell) + 1]; }

    stop() {
      this.worker.terminate();
      this.queue = [];
      this.current?.end(false);
      this.current = null;
      this.cells.forEach((cell) => { cell.done = false; });
      this.ran = false;
      this.boot();
      this.say("Stopped. The variables are gone; Run all brings them back.");
    }

    startOver() {
      this.stop();
      this.cells.forEach((cell) => cell.reset());
      this.say("As at the beginning; Python starts anew.");
    }

    keep(cell, changed) {
      if (changed) this.edits[cell.number] = [cell.original, cell.code];
      else delete this.edits[cell.number];
      const any = Object.keys(this.edits).length > 0;
      if (any) localStorage.setItem(STORE, JSON.stringify(this.edits));
      else localStorage.removeItem(STORE);
      if (this.forget) this.forget.hidden = !any;
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    const start = document.querySelector("button.run-page");
    if (!start) return;
    start.addEventListener("click", () => {
      if (location.protocol === "file:") {
        start.after(make("span", { className: "live-status", textContent: "A page from the disk cannot load Python: run python -m http.server in the site's folder, and open it there." }));
        start.disabled = true;
        return;
      }
      const page = new Page(start, JSON.parse(start.dataset.live));
      window.companionPage = page;
      page.open().catch((error) => { page.progress.hidden = true; page.say(`Python could not be loaded: ${error.message}`); });
    }, { once: true });
  });
})();
