// Exercises that answer: numbers are judged here, hints come one by one, and what is done is remembered in this browser.
// What needs Python is asked with the event "exercise-check" (detail: label, names, answer, say), which a running page
// takes; until one does, the panel says what to do.
(() => {
  "use strict";

  const SELF = document.currentScript.src;
  const STORE = "companion-done", ROUNDED = 1.01; // as companion/exercises.py has it

  // -- what is done

  const read = () => {
    try { return JSON.parse(localStorage.getItem(STORE)) ?? {}; } catch { return {}; }
  };
  function keep(done) {
    try { localStorage.setItem(STORE, JSON.stringify(done)); } catch { /* this browser keeps nothing */ }
    document.dispatchEvent(new CustomEvent("exercises-done"));
  }
  function mark(key, yes = true) {
    const done = read();
    if (yes) done[key] = 1; else delete done[key];
    keep(done);
  }

  // -- numbers

  const FRACTION = /^([+-]?[\d.]+(?:e[+-]?\d+)?)\s*\/\s*([\d.]+(?:e[+-]?\d+)?)$/i;
  function number(text) {
    const parts = text.trim().replace(/[−–]/g, "-").match(FRACTION);
    const value = parts ? Number(parts[1]) / Number(parts[2]) : text.trim() ? Number(text.trim().replace(/[−–]/g, "-")) : NaN;
    return Number.isFinite(value) ? value : NaN;
  }
  function near(value, right, digits) {
    const unit = right === 0 ? 10 ** -digits : 10 ** (Math.floor(Math.log10(Math.abs(right))) - digits + 1);
    return Math.abs(value - right) <= 0.5 * ROUNDED * unit;
  }
  // Returns what is wrong with the answers, in the order of their names; nothing if all are right.
  function judge(known, texts) {
    for (const [i, { name, right, digits, mistakes }] of known.entries()) {
      if (!texts[i].trim()) return `${name} has no value yet.`;
      const value = number(texts[i]);
      if (Number.isNaN(value)) return `${name} should be one number, such as 0.25 or 7/36.`;
      if (near(value, right, digits)) continue;
      const mistake = mistakes.find(([wrong]) => near(value, wrong, digits));
      return mistake ? mistake[1] : `${name} = ${texts[i].trim()} is too ${value > right ? "large" : "small"}.`;
    }
    return "";
  }

  // -- panels

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // What stands between an exercise and the next one: its hints, its check, and the list for a proof.
  function partsOf(exercise) {
    const parts = { hints: [], check: null, last: exercise };
    for (let next = exercise.nextElementSibling; next && !next.matches(".exercise, section, h2, h3"); next = next.nextElementSibling) {
      if (next.matches(".solution")) break;
      if (next.matches(".admonition.hint")) parts.hints.push(next);
      else if (next.matches(".cell.tag_check")) parts.check = next;
      else continue;
      parts.last = next;
    }
    return parts;
  }

  function panelFor(exercise) {
    const label = exercise.id, { hints, check } = partsOf(exercise);
    const place = check?.querySelector(".exercise-check");
    const names = place?.dataset.names.split(", ") ?? [];
    const known = place?.dataset.known ? JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(place.dataset.known), (c) => c.charCodeAt(0)))) : null;
    const verdict = make("p", { className: "exercise-verdict" });
    verdict.setAttribute("role", "status");
    const panel = make("form", { className: "exercise-panel", noValidate: true });
    panel.setAttribute("aria-label", `Your answer to ${exercise.querySelector(".admonition-title")?.textContent.trim() ?? "this exercise"}`);
    panel.dataset.label = label;
    panel.dataset.names = names.join(", ");
    const say = (right, text) => {
      verdict.textContent = `${right ? "Right." : "Not yet."} ${text ?? ""}`.trim();
      verdict.className = `exercise-verdict ${right ? "right" : "wrong"}`;
      if (right) mark(label);
    };
    const fields = (known ?? []).map(({ name }) => make("input", { type: "text", name, autocomplete: "off", spellcheck: false, inputMode: "text" }));
    fields.forEach((field) => panel.append(make("label", {}, make("code", { textContent: field.name }), " = ", field)));
    const buttons = make("span", { className: "exercise-buttons" });
    if (place) buttons.append(make("button", { type: "submit", textContent: "Check" }));
    if (hints.length) {
      const more = make("button", { type: "button" });
      let shown = 0;
      const tell = () => {
        more.textContent = shown < hints.length ? `Hint ${shown + 1} of ${hints.length}` : "No more hints";
        more.disabled = shown === hints.length;
      };
      hints.forEach((hint) => { hint.hidden = true; });
      more.addEventListener("click", () => {
        const hint = hints[shown++];
        hint.hidden = false;
        if (hint.classList.contains("toggle-hidden")) (hint.querySelector("button.toggle-button") ?? hint.querySelector(".admonition-title"))?.click();
        tell();
      });
      tell();
      buttons.append(more);
    }
    if (!place) {
      const box = make("input", { type: "checkbox", checked: label in read() });
      box.addEventListener("change", () => mark(label, box.checked));
      buttons.append(make("label", {}, box, " done"));
    }
    panel.append(buttons, verdict);
    panel.addEventListener("submit", (event) => {
      event.preventDefault();
      if (known) {
        const wrong = judge(known, fields.map((field) => field.value));
        say(!wrong, wrong);
        return;
      }
      const asked = new CustomEvent("exercise-check", { cancelable: true, detail: { label, names, panel, say } });
      if (document.dispatchEvent(asked)) { // nobody took it
        verdict.className = "exercise-verdict";
        const here = document.querySelector(".run-page") ? "Press “Run this page” at the top, or take" : "Take";
        verdict.textContent = `This check runs Python: it judges ${names.join(", ")}. ${here} the notebook without solutions.`;
      }
    });
    (hints.at(-1) ?? exercise).after(panel);
    return label;
  }

  // -- what of this page is done, beside its title

  function countBeside(title, keys) {
    const told = make("p", { className: "exercises-done" });
    const tell = () => {
      const done = read(), count = keys.filter((key) => key in done).length;
      told.textContent = `${count} of ${keys.length} exercises and questions done`;
      told.hidden = count === 0;
    };
    title.after(told);
    tell();
    document.addEventListener("exercises-done", tell);
    addEventListener("storage", tell); // in another window
  }

  // -- the map: how much of each page is done; export, import, forget

  async function onMap() {
    const links = [...document.querySelectorAll("table.needs td:first-child a")];
    if (!links.length) return;
    await new Promise((done) => { // the keys of each page: tools/items.py
      const script = make("script", { src: new URL("exercise-keys.js", SELF).href, onload: done, onerror: done });
      document.head.append(script);
    });
    const all = window.COMPANION_EXERCISES ?? {};
    const bar = make("div", { className: "page-tools exercise-memory" });
    const told = make("span", {});
    told.setAttribute("role", "status");
    const file = make("input", { type: "file", accept: "application/json", hidden: true });
    const act = (text, action) => {
      const button = make("button", { type: "button", textContent: text });
      button.addEventListener("click", action);
      bar.append(button);
    };
    bar.append(told, file);
    act("Export", () => {
      const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(read())], { type: "application/json" })), download: "exercises-done.json" });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    act("Import", () => file.click());
    act("Forget", () => keep({}));
    file.addEventListener("change", async () => {
      try {
        const given = JSON.parse(await file.files[0].text());
        keep({ ...read(), ...Object.fromEntries(Object.keys(given).map((key) => [key, 1])) });
      } catch { told.textContent = "This file holds no list of exercises."; }
    });
    const tell = () => {
      const done = read();
      let count = 0, total = 0;
      for (const link of links) {
        const page = link.getAttribute("href").replace(/^(\.\.\/)+|\.html.*$/g, "");
        const keys = all[page] ?? [], some = keys.filter((key) => key in done).length;
        count += some;
        total += keys.length;
        link.parentElement.querySelector(".page-done")?.remove();
        if (some) link.after(make("small", { className: "page-done", textContent: `${some} of ${keys.length} exercises and questions done` }));
      }
      told.textContent = `Kept in this browser only: ${count} of ${total} exercises and questions done.`;
    };
    document.querySelector(".bd-article h1").after(bar);
    tell();
    document.addEventListener("exercises-done", tell);
  }

  document.addEventListener("DOMContentLoaded", () => {
    onMap();
    const page = document.querySelector(".bd-article h1");
    const keys = [...document.querySelectorAll(".bd-article .admonition.exercise[id]")].map(panelFor);
    const path = (typeof DOCUMENTATION_OPTIONS === "undefined" ? "" : DOCUMENTATION_OPTIONS.pagename ?? "");
    document.querySelectorAll(".bd-article .admonition.question").forEach((question, i) => {
      const key = `${path}#question-${i + 1}`;
      keys.push(key);
      question.addEventListener("click", (event) => {
        if (event.target.closest("li.right .question-choice")) mark(key);
      });
    });
    if (page && keys.length) countBeside(page, keys);
  });
})();
