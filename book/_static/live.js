// Runs the cells of a page in the reader's browser: Pyodide in a worker, an editor for each cell. Nothing is loaded, and the
// page is as it was stored, until the reader asks for it. tools/live.py makes what is loaded; the worker runs
// live_kernel.py.
(() => {
  "use strict";

  const HERE = new URL(".", document.currentScript.src); // _static/
  const VIEW = "application/vnd.jupyter.widget-view+json";
  const STORE = `companion-live:${location.pathname}`;

  // -- the worker; it is made of this function's text, since a page from the disk may not name a script for a worker

  function work() {
    // Python starts when its core has come, while its packages are still being loaded.
    const files = {}, come = {};
    const part = (name) => new Promise((done) => { come[name] = done; });
    const nameOf = (place) => String(place).split("/").pop();
    const load = self.importScripts.bind(self);
    self.importScripts = (place) => load(URL.createObjectURL(new Blob([files[nameOf(place)]], { type: "text/javascript" })));
    self.fetch = async (place) => {
      const type = nameOf(place).endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(files[nameOf(place)], { headers: { "content-type": type } });
    };
    const later = []; // what the page keeps when it has its result: the next one need not unzip it
    async function unzip(part, name) {
      const zipped = await part.slice(0, 1).text() === "\x1f"; // some servers let the browser unpack what ends in .gz
      const whole = await new Response(zipped ? part.stream().pipeThrough(new DecompressionStream("gzip")) : part).arrayBuffer();
      if (zipped && name) later.push(() => ({ kind: "part", name, part: new Blob([whole]) }));
      return new Uint8Array(whole);
    }
    const partOf = async (name) => unzip(await part(name), name);

    function* filesIn(archive) {
      for (let at = 0; archive[at];) {
        const header = new TextDecoder().decode(archive.subarray(at, at + 512));
        const text = (from, length) => header.slice(from, from + length).split("\0", 1)[0];
        const size = parseInt(text(124, 12), 8);
        yield [[text(345, 155), text(0, 100)].filter(Boolean).join("/"), archive.subarray(at + 512, at + 512 + size)];
        at += 512 * (1 + Math.ceil(size / 512));
      }
    }

    function unpack(FS, contained, home) {
      const places = {};
      let folder = "", parent;
      for (const [name, contents] of contained) {
        const parts = `${home}/${name}`.split("/"), last = parts.pop(), above = parts.join("/");
        if (above !== folder) {
          FS.mkdirTree(folder = above);
          parent = FS.lookupPath(folder).node;
        }
        Object.assign(FS.filesystems.MEMFS.createNode(parent, last, 0o100644, 0), { contents, usedBytes: contents.length });
        if (/\.(pyc?|so)$/.test(name)) places[name.split(".")[0].replace(/\/__init__$/, "").replaceAll("/", ".")] = `${home}/${name}`;
      }
      return places;
    }

    // Python begins anew, with the shell imported, or where a page of this site kept its memory then: in a tenth of the time.
    // Libraries in C that this page used are compiled meanwhile, not one after the other when they are imported.
    let kernel;
    const compiled = {}, used = [];
    async function start({ core, lock, base, packages, memory, libraries }) {
      const home = `/lib/python${lock.info.python.replace(/\.\d+$/, "")}/site-packages`;
      const archives = packages.map(async (name) => [...filesIn(await partOf(`${name}.tar.gz`))]);
      const early = archives.map(async (archive) => Promise.all((await archive).filter(([name]) => libraries.includes(name)).map(
        async ([name, packed]) => { compiled[`${home}/${name}`] = await WebAssembly.compile(await unzip(new Blob([packed]))); })));
      await Promise.all(core.map(async (name) => { files[name] = await partOf(`${name}.gz`); }));
      files["pyodide-lock.json"] = JSON.stringify(lock);
      self.importScripts("pyodide.js");
      const begin = memory ? { _loadSnapshot: await memory.arrayBuffer() } : { _makeSnapshot: true };
      const pyodide = await self.loadPyodide({ indexURL: base, lockFileURL: base + "pyodide-lock.json", env: { HOME: "/home/pyodide", MPLBACKEND: "module://matplotlib_inline.backend_inline" }, ...begin });
      for (const name in files) delete files[name];
      pyodide.setStdin({ stdin: () => null }); // nobody can be asked: input() says so at once
      delete pyodide._api.config._loadSnapshot;
      const { FS } = pyodide;
      const places = {}; // of modules
      for (const [i, name] of packages.entries()) Object.assign(places, unpack(FS, await archives[i], name === "results" ? "" : home)); // ../../benchmarks, from /home/pyodide
      kernel = pyodide.pyimport("companion_page");
      if (!memory) self.postMessage({ kind: "memory", memory: new Blob([pyodide.makeMemorySnapshot()]) });
      // Whoever loads a library by its file keeps the file's bytes, in Python's memory and beside it.
      const { loadWebAssemblyModule, preloadedWasm } = pyodide._module;
      const library = (place, code = compiled[place]) => {
        if (!code) return false;
        used.push(place.replace(`${home}/`, ""));
        preloadedWasm[place] = loadWebAssemblyModule(code, {}, place, {});
        code.buffer?.transfer?.(0); // a closure holds them
        return true;
      };
      await Promise.all(early);
      kernel.start((text) => self.postMessage({ kind: "output", output: JSON.parse(text) }), library, JSON.stringify(places));
      if (kernel.find("libopenblas")) await pyodide._api.loadDynlib(places.libopenblas, true, []);
      self.postMessage({ kind: "ready" });
    }
    self.onmessage = async ({ data }) => {
      try {
        if (data.kind === "start") await start(data);
        else if (data.kind === "part") come[data.name](data.part);
        else if (data.kind === "run") self.postMessage({ kind: "done", ok: kernel.run(data.code), used });
        else self.postMessage({ kind: "done", ...JSON.parse(kernel.check(data.check, data.code, data.name, JSON.stringify(data.names))) });
        while (data.kind === "run" && later.length) self.postMessage(later.pop()());
      } catch (error) {
        self.postMessage({ kind: "failed", message: String(error.message ?? error).trim().split("\n").at(-1) });
      }
    };
  }

  // -- what is loaded: files; or, in the edition that is read from the disk, scripts that hold them as base64

  const carried = {};
  window.companionCarries = (name, text) => { carried[name] = `data:application/octet-stream;base64,${text}`; };

  // Not by fetch: what it hands over in pieces, to count them, fills the memory of the page.
  async function loaded(name, inScripts, version, told) {
    if (inScripts) await script(`live/${name}.js`);
    const blob = await new Promise((done, failed) => {
      const asked = new XMLHttpRequest(), lost = () => failed(new Error(`${name} is not there`));
      let before = 0;
      asked.onprogress = (event) => { told(event.loaded - before); before = event.loaded; };
      asked.onload = () => { if (inScripts || asked.status === 200) done(asked.response); else lost(); };
      asked.onerror = lost;
      asked.open("GET", inScripts ? carried[name] : new URL(`live/${name}${version}`, HERE));
      asked.responseType = "blob";
      asked.send();
    });
    delete carried[name];
    return blob;
  }

  // What Python's memory held when it had started, which libraries in C a page used then, and its files unzipped, of this
  // state of the site. A browser need not keep it.
  const kept = {
    async get(what, stamp) {
      try { return await (await (await caches.open("companion-live")).match(`${HERE}${what}?${stamp}`))?.blob(); } catch { return undefined; }
    },
    async put(what, stamp, content) {
      try {
        if (what === "memory") await caches.delete("companion-live");
        await (await caches.open("companion-live")).put(`${HERE}${what}?${stamp}`, new Response(content));
      } catch { /* then the next page starts as this one did */ }
    },
  };

  function script(name) {
    return new Promise((onload, failed) => {
      document.head.append(make("script", { src: new URL(name, HERE), onload, onerror: () => failed(new Error(`${name} is not there`)) }));
    });
  }

  function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  }
  function button(text, onclick, label) {
    return make("button", { type: "button", textContent: text, onclick, ...(label && { ariaLabel: label }) });
  }

  // -- outputs, drawn as the stored ones are

  function draw(place, output) {
    const box = (kind, ...children) => {
      const element = make("div", { className: `output ${kind}` }, ...children);
      place.append(element);
      return element;
    };
    const text = (kind, words) => box(`${kind} highlight-myst-ansi`, make("div", { className: "highlight" }, make("pre", { textContent: words, tabIndex: 0 })));
    if (output.output_type === "clear") place.replaceChildren();
    else if (output.output_type === "stream") {
      const last = place.lastElementChild;
      if (last?.matches(`.stream.${output.name}`)) last.querySelector("pre").append(output.text);
      else text(`stream ${output.name}`, output.text);
    } else if (output.output_type === "error") text("traceback", output.traceback.join("\n"));
    else {
      const { data, metadata, widgets } = output;
      const book = data[VIEW] && widgets && window.companionFlipbook?.(widgets, data[VIEW].model_id);
      if (book) box("text_html", book);
      else if (data["image/png"]) {
        const image = make("img", { src: `data:image/png;base64,${data["image/png"].trim()}`, alt: metadata["image/png"]?.alt ?? "A picture drawn by the cell" });
        box("image_png", image);
        window.companionPicture?.(image);
      } else if (data["text/html"]) {
        const html = box("text_html");
        html.innerHTML = data["text/html"];
        html.querySelectorAll(".companion-board-static").forEach((board) => window.companionBoard?.(board));
      } else if (data["text/latex"]) {
        const formula = data["text/latex"].trim().replace(/^\$+|\$+$/g, "");
        window.MathJax?.typesetPromise?.([box("text_latex math notranslate nohighlight", `\\[${formula}\\]`)]);
      } else if (data["text/plain"]) text("text_plain", data["text/plain"]);
    }
  }

  // -- an editor

  // Tab indents; after Escape it leaves, until the next key that writes.
  function editor(page, label, code, changed, keys) {
    const C = window.CodeMirror;
    const colours = ["keyword", "string", "comment", "number", "operator"];
    const style = C.HighlightStyle.define(colours.map((name) => ({ tag: C.tags[name], class: `live-${name}` })));
    const leave = { key: "Escape", run: (view) => { view.setTabFocusMode(true); page.say("Tab leaves the editor now."); return true; } };
    return new C.EditorView({ doc: code, extensions: [
      C.history(), C.Prec.highest(C.keymap.of([...keys, leave])), C.keymap.of([C.indentWithTab, ...C.defaultKeymap, ...C.historyKeymap]), C.python(),
      C.indentUnit.of("    "), C.bracketMatching(), C.syntaxHighlighting(style),
      C.EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "live-keys", tabindex: "0" }),
      C.EditorView.updateListener.of((update) => {
        if (update.docChanged) { update.view.setTabFocusMode(false); changed(update.state.doc.toString()); }
        if (update.focusChanged && !update.view.hasFocus) update.view.setTabFocusMode(false);
      }),
    ] });
  }
  const write = (view, code) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: code } });

  // -- a cell

  class Cell {
    constructor(box, id, number, page) {
      Object.assign(this, { box, id, number, page, done: false, fresh: false, outputs: [] });
      this.original = box.querySelector(".cell_input pre").textContent.replace(/\n$/, "");
      this.code = page.edited(id, this.original);
      this.name = `Code cell ${number} of ${page.count}`;
      this.output = box.querySelector(".cell_output") ?? make("div", { className: "cell_output docutils container" });
      this.stored = [...this.output.childNodes];
      this.note = make("span", { className: "live-note" });
      this.again = button("Start over", () => this.reset(), `Start over with code cell ${number}`);
      this.bar = make("div", { className: "live-bar" }, button("Run", () => page.run(this), `Run code cell ${number}`), this.again, this.note);
      this.editor = editor(page, `Code cell ${number}`, this.code, (code) => this.changed(code), [
        { key: "Shift-Enter", run: () => { page.run(this); page.after(this)?.focus(); return true; } },
        { key: "Mod-Enter", run: () => { page.run(this); return true; } },
      ]);
      const input = box.querySelector(".cell_input");
      [...input.children].forEach((child) => { child.hidden = true; });
      input.append(this.editor.dom, this.bar);
      if (!this.output.isConnected) box.append(this.output);
      this.tell();
    }

    focus() {
      const fold = this.box.querySelector("details");
      if (fold?.contains(this.editor.dom)) fold.open = true;
      this.editor.focus();
    }

    changed(code) {
      this.code = code;
      this.done = false;
      this.page.keep(this.id, this.original, code);
      this.tell();
    }

    tell() {
      const changed = this.code !== this.original;
      this.note.textContent = changed ? "changed by you" : "";
      this.again.hidden = !changed && !this.fresh;
      this.box.classList.toggle("live-changed", changed);
    }

    message() { return { kind: "run", code: this.code }; }

    begin() {
      this.fresh = true;
      this.outputs = [];
      this.box.classList.add("live-running");
      this.output.style.minHeight = `${this.output.offsetHeight}px`; // the text below stands still
      this.output.replaceChildren();
    }

    show(output) {
      this.outputs.push(output);
      draw(this.output, output);
    }

    end({ ok }) {
      this.done = ok;
      this.box.classList.remove("live-running");
      this.box.classList.toggle("live-failed", !ok);
      setTimeout(() => { this.output.style.minHeight = ""; }, 300);
      this.tell();
    }

    reset() {
      if (this.page.current === this) this.page.stop();
      write(this.editor, this.original);
      this.output.replaceChildren(...this.stored);
      this.fresh = this.done = false;
      this.box.classList.remove("live-failed");
      this.tell();
    }
  }

  // -- an answer to an exercise that a check in Python judges

  class Answer {
    constructor({ label, names, panel, say }, page) {
      Object.assign(this, { id: label, names, panel, say, page, name: "The check" });
      this.cell = page.cells.find(({ box }) => box.matches(".tag_check") && panel.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING);
      this.original = page.told.skeletons[label] ?? names.map((name) => `${name} = ...`).join("\n");
      this.code = page.edited(label, this.original);
      this.output = make("div", { className: "cell_output" });
      this.editor = editor(page, panel.getAttribute("aria-label"), this.code, (code) => { this.code = code; page.keep(label, this.original, code); }, [
        { key: "Mod-Enter", run: () => { page.check(this); return true; } },
      ]);
      panel.prepend(make("div", { className: "cell live-answer" }, this.editor.dom, this.output));
      this.verdict = panel.querySelector(".exercise-verdict");
      this.verdict.textContent = "Write your answer, then press Check.";
      this.verdict.className = "exercise-verdict";
    }

    message() {
      const check = this.cell.original;
      return { kind: "check", check, code: this.code, name: check.trim().split("\n").at(-1), names: this.names };
    }

    begin() { this.output.replaceChildren(); this.verdict.textContent = "The check runs …"; }
    show(output) { draw(this.output, output); }
    end({ ok, right, text }) {
      if (ok) this.say(right, text);
      else this.say(false, "The code ended with an error.");
    }
    reset() { write(this.editor, this.original); this.output.replaceChildren(); this.verdict.textContent = ""; }
  }

  // -- the page

  class Page {
    constructor(start) {
      Object.assign(this, { start, queue: [], cells: [], answers: new Map(), current: null, ready: false, told: JSON.parse(start.dataset.live), inScripts: "scripts" in start.dataset });
      this.remember();
      this.status = make("span", { className: "live-status", role: "status" });
      this.progress = make("progress", { max: 1, value: 0, ariaLabel: "Loading Python" });
      this.bytes = make("span", { className: "live-note" });
      this.retry = button("Try again", () => this.open());
      this.stopper = button("Stop", () => this.stop());
      this.forgetter = button("Forget my changes", () => this.forget());
      this.tools = make("div", { className: "live-tools", role: "group", ariaLabel: "Python in this page", tabIndex: -1 },
        button("Run all", () => this.run(this.cells.at(-1), true)), this.stopper, button("Start over", () => this.startOver(), "Start over with the page"),
        this.forgetter, this.retry, this.progress, this.bytes, this.status,
        make("span", { id: "live-keys", hidden: true, textContent: "Shift and Enter run the cell. Escape, then Tab, leaves the editor." }));
      start.hidden = true;
      start.closest(".page-tools").after(this.tools);
      this.tools.focus();
      this.retry.hidden = true;
      this.tell();
    }

    say(text) { this.status.textContent = text; }

    tell() {
      this.stopper.disabled = !this.current && !this.queue.length;
      this.forgetter.hidden = !Object.keys(this.edits).length;
      this.tools.dataset.state = this.current ? "running" : this.ready ? "ready" : "starting";
    }

    async open() {
      this.retry.hidden = true;
      this.progress.hidden = this.bytes.hidden = false;
      try {
        await this.load();
      } catch (error) {
        this.fail(`Python could not be loaded: ${error.message}.`);
      }
    }

    fail(text) {
      this.worker?.terminate();
      this.ready = false;
      this.queue = [];
      this.progress.hidden = this.bytes.hidden = true;
      this.retry.hidden = false;
      this.say(text);
      this.tell();
    }

    async load() {
      this.say("Python is being loaded. You can write already.");
      const list = JSON.parse(await (await loaded("list.json", this.inScripts, `?${Date.now()}`, () => {})).text());
      const sizes = Object.fromEntries(Object.entries(list.core).map(([name, size]) => [`${name}.gz`, size]));
      for (const name of this.told.packages) sizes[`${name}.tar.gz`] = list.packages[name];
      const total = Object.values(sizes).reduce((a, b) => a + b, 0);
      let sum = 0;
      const told = (bytes) => {
        sum += bytes;
        this.progress.value = sum / total;
        this.bytes.textContent = `${(sum / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`;
      };
      const part = async (name) => {
        const unzipped = await kept.get(name, list.stamp);
        if (unzipped) told(sizes[name]);
        return unzipped ?? loaded(name, this.inScripts, `?${list.stamp}`, told);
      };
      this.parts = Object.fromEntries(Object.keys(sizes).map((name) => [name, part(name)]));
      this.list = list;
      this.memory = this.found = await kept.get("memory", list.stamp);
      this.libraries = JSON.parse(await (await kept.get("libraries", list.stamp))?.text() ?? "[]");
      this.boot();
      if (!window.CodeMirror) await script("vendor/codemirror/codemirror.js");
      if (!this.cells.length) this.makeCells();
      await Promise.all(Object.values(this.parts));
      this.loaded = true;
      this.progress.hidden = this.bytes.hidden = true;
      if (!this.ready) this.say("Python starts …");
    }

    makeCells() {
      const boxes = [...document.querySelectorAll(".bd-article div.cell")].filter((box) => box.querySelector(".cell_input pre"));
      this.count = boxes.length;
      this.cells = boxes.map((box, i) => new Cell(box, this.told.cells[i] ?? String(i), i + 1, this));
    }

    boot() {
      this.ready = false;
      const url = URL.createObjectURL(new Blob([`(${work})()`], { type: "text/javascript" }));
      const worker = this.worker = new Worker(url);
      worker.onmessage = ({ data }) => this.hear(data);
      worker.onerror = (event) => this.hear({ kind: "failed", message: event.message });
      worker.postMessage({ kind: "start", core: Object.keys(this.list.core), memory: this.memory, libraries: this.libraries, lock: this.list.lock, base: new URL("live/", HERE).href, packages: this.told.packages });
      for (const [name, asked] of Object.entries(this.parts)) Promise.resolve(asked).then((part) => worker.postMessage({ kind: "part", name, part }), () => {});
      this.tell();
    }

    hear(data) {
      if (data.kind === "output") this.current?.show(data.output);
      else if (data.kind === "part") kept.put(data.name, this.list.stamp, this.parts[data.name] = data.part);
      else if (data.kind === "memory") kept.put("memory", this.list.stamp, this.memory = data.memory);
      else if (data.kind === "ready") {
        this.ready = true;
        if (!this.queue.length) this.say(`Python is ready. ${this.cells.some(({ fresh }) => fresh) ? "The variables are gone; Run all computes them again." : "Shift+Enter runs a cell."}`);
        this.next();
      } else if (data.kind === "failed") {
        this.lose();
        this.fail(`Python stopped: ${data.message}. The variables are gone.`);
      } else {
        const item = this.current;
        this.current = null;
        if (data.used?.length > this.libraries.length) kept.put("libraries", this.list.stamp, JSON.stringify(this.libraries = data.used));
        item.end(data);
        if (data.ok) this.next();
        else {
          this.queue = [];
          this.say(`${item.name} ended with an error.${item.outputs?.at(-1)?.ename === "ModuleNotFoundError" ? " This page loads what its own cells import, and nothing else." : ""}`);
          this.tell();
        }
      }
    }

    next() {
      if (!this.ready || this.current) return;
      this.current = this.queue.shift() ?? null;
      if (this.current) {
        this.ran = true;
        this.say(`${this.current.name} runs …`);
        this.current.begin();
        this.worker.postMessage(this.current.message());
      } else if (this.ran) this.say("Done.");
      this.tell();
    }

    // A cell runs after those above that have not run.
    run(cell, all = false) {
      const above = this.cells.slice(0, this.cells.indexOf(cell)).filter((each) => all || !each.done);
      this.put([...above, cell]);
    }

    put(items) {
      this.queue.push(...items.filter((item) => item !== this.current && !this.queue.includes(item)));
      if (!this.ready) this.say("Python is still starting; the cell runs then.");
      this.next();
      this.tell();
    }

    // A check brings what it needs; an answer may use what the page imports in its first cell.
    check(answer) {
      answer.verdict.textContent = "Python starts; then the check runs.";
      this.put([...this.cells.slice(0, 1).filter((cell) => !cell.done), answer]);
    }

    answer(asked) {
      const known = this.answers.get(asked.label);
      if (known) this.check(known);
      else {
        this.answers.set(asked.label, new Answer(asked, this));
        this.answers.get(asked.label).editor.focus();
      }
    }

    get idle() { return !this.retry.hidden || (this.ready && !this.current && !this.queue.length); }

    after(cell) { return this.cells[this.cells.indexOf(cell) + 1]; }

    lose() {
      this.worker.terminate();
      this.queue = [];
      const item = this.current;
      this.current = null;
      item?.end({ ok: false });
      this.cells.forEach((cell) => { cell.done = false; });
      this.ran = false;
    }

    stop() {
      if (!this.loaded) {
        this.queue = [];
        this.say("Nothing waits for Python any more. It is still being loaded.");
        return this.tell();
      }
      this.lose();
      this.boot();
      this.say("Stopped. The variables are gone; Run all computes them again.");
    }

    startOver() {
      if (this.loaded) this.stop();
      this.cells.forEach((cell) => cell.reset());
      this.say("As at the beginning; Python starts anew.");
    }

    forget() {
      [...this.cells, ...this.answers.values()].forEach((each) => { if (each.code !== each.original) each.reset(); });
      this.edits = {};
      this.store();
      this.say("Your changes are forgotten.");
    }

    edited(id, original) { return this.edits[id]?.[0] === original ? this.edits[id][1] : original; }

    remember() {
      try { this.edits = JSON.parse(localStorage.getItem(STORE)) ?? {}; } catch { this.edits ??= {}; }
    }

    keep(id, original, code) {
      this.remember(); // with what was written in another window
      if (code !== original) this.edits[id] = [original, code];
      else delete this.edits[id];
      this.store();
    }

    store() {
      try {
        if (Object.keys(this.edits).length) localStorage.setItem(STORE, JSON.stringify(this.edits));
        else localStorage.removeItem(STORE);
      } catch { /* this browser keeps nothing */ }
      this.tell();
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    const start = document.querySelector("button.run-page");
    if (!start) return;
    let opened = null;
    const open = () => {
      if (location.protocol === "file:" && !("scripts" in start.dataset)) {
        start.after(make("span", { className: "live-status", role: "status", textContent: "From the disk, only the edition of \u201cmake zip LIVE=1\u201d loads Python. Or: python -m http.server in the site\u2019s folder, then open localhost:8000." }));
        start.disabled = true;
        return null;
      }
      window.companionPage ??= new Page(start);
      opened ??= window.companionPage.open();
      return window.companionPage;
    };
    start.addEventListener("click", open);
    document.addEventListener("exercise-check", (event) => {
      event.preventDefault();
      const asked = event.detail, page = window.companionPage;
      if (page?.cells.length) page.answer(asked);
      else {
        const verdict = asked.panel.querySelector(".exercise-verdict");
        const offer = button(start.textContent, async () => {
          const begun = open();
          verdict.textContent = "";
          while (begun && !begun.cells.length) await new Promise((done) => setTimeout(done, 50));
          begun?.answer(asked);
        });
        verdict.className = "exercise-verdict";
        verdict.replaceChildren(`This check runs Python: it judges ${asked.names.join(", ")}. `, offer);
      }
    });
  });
})();
