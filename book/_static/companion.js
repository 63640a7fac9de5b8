// Questions, filters and solutions; names for screen readers; scrolling for what is wider than the page.
(() => {
  "use strict";

  // The search names first the chapters, and among the pages those with its words in their title.
  if (typeof DOCUMENTATION_OPTIONS !== "undefined" && DOCUMENTATION_OPTIONS.pagename === "search") {
    const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const MARKED = "sphinx_highlight_terms";
    const AUTHORS = /^(book\/(contributing|jupyter-book-2|template|changes|status|troubleshooting)|notebooks\/about\/)/; // pages for them come last
    window.Scorer = {
      score: ([page, title, anchor, description, score]) => {
        const named = !anchor && !description && words.every((word) => title.toLowerCase().includes(word));
        const share = words.join(" ").length / title.length;
        return score + (named ? 20 + 10 * share : 0) + (page.startsWith("notebooks/") ? 3 : 0) - (AUTHORS.test(page) ? 1000 : 0);
      },
      objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
      title: 15, partialTitle: 7, term: 5, partialTerm: 2,
    };
    document.addEventListener("DOMContentLoaded", () => {
      // The excerpts come from one file with the text of all pages: a page from the disk may not read others.
      window.fetch = async (page) => ({ text: async () => page.replace(/^\.\/|\.html$/g, "") });
      Search.htmlToText = (page, anchor) => {
        const parts = window.COMPANION_TEXT?.[page] ?? [];
        const from = parts.findIndex(([id]) => id === anchor?.slice(1));
        return parts.slice(Math.max(from, 0)).map(([, text]) => text).join(" ");
      };
      const load = (name) => new Promise((done) => {
        const script = document.createElement("script");
        script.src = `_static/${name}`;
        ["load", "error"].forEach((kind) => script.addEventListener(kind, done));
        document.head.append(script);
      });
      const loaded = Promise.all([load("items.js"), load("text.js")]); // tools/items.py, book/_ext/companion_offline.py
      const search = Search.query;
      Search.named = named;
      Search.query = (query) => loaded.then(() => {
        nameFirst(query);
        search(query);
        // The next page marks the words that were typed: whole words, no syllables and digits.
        const typed = (localStorage.getItem(MARKED) ?? "").split(" ").filter((word) => word.length > 2);
        localStorage.setItem(MARKED, typed.join(" "));
      });
    });
  }

  // Names are equal up to case, spaces, hyphens, brackets and the spelling of Greek letters: "nu-SVM" is "The ν-SVM".
  const GREEK = { ν: "nu", ε: "epsilon", λ: "lambda", ρ: "rho", τ: "tau", σ: "sigma", μ: "mu", η: "eta", ξ: "xi", δ: "delta", "′": "'", "’": "'", "∗": "*" };
  const SHORT = { fig: "figure", thm: "theorem", prop: "proposition", prob: "problem", ex: "example", def: "definition", cor: "corollary", sec: "section", "§": "section" };
  function key(name) {
    return name.normalize("NFKC").trim().toLowerCase()
      .replace(/^(fig|thm|prop|prob|ex|def|cor|sec|§)\.?\s*(?=(\d|[a-z]\.\d))/, (_, word) => SHORT[word] + " ")
      .replace(/^(the|an|a) /, "").replace(/[νελρτσμηξδ′’∗]/g, (letter) => GREEK[letter])
      .replace(/[\s_\-‐–—(){}[\]$\\,;:"“”]/g, "").replace(/\.(?!\d)/g, "") || name.trim();
  }

  // All names with their keys: those of tools/items.py, and the public names that the search index has.
  let known;
  function allNames() {
    const index = Search._index, entries = [...(window.COMPANION_ITEMS ?? [])];
    for (const [prefix, members] of Object.entries(index.objects)) {
      for (const [page, , , , name] of members) {
        const path = `${prefix}.${name}`;
        entries.push([[name, path], `${index.docnames[page]}.html#${path}`, path, 1]);
      }
    }
    return entries.map(([names, href, told, code = 0]) => ({ names, keys: names.map(key), href, told, code }));
  }

  // Whether two words differ in one letter, which is another, is missing or too many, or in two that changed places.
  function alike(a, b) {
    if (Math.abs(a.length - b.length) > 1) return false;
    let i = 0, j = 0;
    while (i < a.length && a[i] === b[i]) i++;
    while (j < Math.min(a.length, b.length) - i && a.at(-1 - j) === b.at(-1 - j)) j++;
    const [x, y] = [a.slice(i, a.length - j), b.slice(i, b.length - j)];
    return Math.max(x.length, y.length) <= 1 || (x.length === 2 && x[0] === y[1] && x[1] === y[0]);
  }

  // What is called as typed, and then what begins so; if nothing is, what is called nearly so.
  function named(query) {
    known ??= allNames();
    const wanted = key(query.replace(/^(what|who|how) (is|are|does|do) |\?/gi, "")), exact = [], begun = [], near = [];
    for (const { names, keys, href, told, code } of known) {
      const place = keys.indexOf(wanted), start = keys.findIndex((k) => wanted.length > 3 && k.startsWith(wanted));
      const typo = wanted.length > 4 ? keys.findIndex((k) => alike(k, wanted)) : -1;
      const [list, at] = place >= 0 ? [exact, place] : start >= 0 ? [begun, start] : [near, typo];
      if (at >= 0) list.push({ name: names[at], told, code, verbatim: Number(names.includes(query.trim())), href });
    }
    if (!exact.length && !begun.length) return near.slice(0, 5);
    // A name of the code is meant as it is written: point_board is not PointBoard, exp is not Exp.
    const written = /[._]|-\d|[a-z][A-Z]|[A-Z]{2}[a-z]/.test(query);
    exact.sort((a, b) => (written ? 0 : a.code - b.code) || (written || a.code) && b.verbatim - a.verbatim);
    return [...exact, ...begun].slice(0, Math.max(exact.length, 5));
  }

  // They stand before the pages that hold the words.
  function nameFirst(query) {
    const list = document.createElement("ul");
    list.className = "search named";
    for (const { name, href, told } of named(query)) {
      const item = document.createElement("li"), link = document.createElement("a"), context = document.createElement("p");
      link.href = href;
      link.textContent = name;
      context.className = "context";
      context.textContent = told;
      item.append(link, ...(told ? [context] : []));
      list.append(item);
    }
    if (!list.children.length) return;
    document.getElementById("search-results").prepend(list);
    // The count that follows is of the pages with the words.
    new MutationObserver((_, watch) => {
      if (!Search.status.textContent.includes("did not match")) return;
      watch.disconnect();
      Search.status.textContent = "Search finished, found nothing else.";
    }).observe(Search.status, { childList: true });
  }

  // The small arrows that unfold a part of the table of contents have no text. A folded cell says what it holds.
  function nameToggles() {
    document.querySelectorAll("details.hide > summary").forEach((summary) => summary.removeAttribute("aria-label"));
    document.querySelectorAll("nav summary").forEach((summary) => {
      const link = summary.closest("li")?.querySelector("a");
      if (!summary.textContent.trim()) summary.setAttribute("aria-label", `Pages under ${link ? link.textContent.trim() : "this part"}`);
    });
  }

  // The bibliography's entries are announced by their own roles.
  function freeCitations() {
    document.querySelectorAll(".citation-list[role=list]").forEach((list) => list.removeAttribute("role"));
  }

  // What scrolls sideways must be reachable by keyboard; formulas that do not fit begin to scroll.
  const WIDE = "mjx-container[display=true], div.math, pre, .pst-scrollable-table-container, .cell_output, .output";
  function reachScrollers(part = document.querySelector(".bd-article")) {
    if (!part) return;
    // All formulas are measured together: each look after a change lays out the page anew.
    const formulas = [...part.querySelectorAll("mjx-container:not([display=true])")];
    formulas.forEach((formula) => formula.classList.remove("scrolls"));
    const wide = formulas.map((formula) => {
      const room = formula.parentElement.closest("p, li, td, dd, dt, div, h1, h2, h3, h4")?.clientWidth ?? Infinity;
      const svg = formula.querySelector("svg");
      return svg !== null && room > 0 && svg.getBoundingClientRect().width > room;
    });
    formulas.forEach((formula, i) => formula.classList.toggle("scrolls", wide[i]));
    const boxes = [...part.querySelectorAll(":is(" + WIDE + ", .scrolls)")];
    const scrolling = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
    boxes.forEach((box, i) => {
      if (scrolling[i]) {
        box.setAttribute("tabindex", "0");
      } else if (box.tagName !== "MJX-CONTAINER" && box.getAttribute("tabindex") === "0") {
        box.removeAttribute("tabindex");
      }
    });
  }

  // The marks around a formula stay on its line: no full stop begins one, no bracket opens at the end of one.
  function holdMarks() {
    document.querySelectorAll(".bd-article :is(p, li, td, dd, a, em, strong, button) > span.math").forEach((formula) => {
      const [before, after] = [formula.previousSibling, formula.nextSibling].map((e) => (e?.nodeType === Node.TEXT_NODE ? e : null));
      const opening = before?.data.match(/[([“‘]+$/)?.[0] ?? "";
      const closing = after?.data.match(/^[.,;:!?)\]’”]+/)?.[0] ?? "";
      if (!opening && !closing) return;
      const held = document.createElement("span");
      held.className = "held";
      formula.before(held);
      held.append(opening, formula, closing);
      if (opening) before.data = before.data.slice(0, -opening.length);
      if (closing) after.data = after.data.slice(closing.length);
    });
  }

  // A question's list of choices becomes buttons. Each choice ends with its explanation in italics, shown once chosen.
  function askQuestions() {
    document.querySelectorAll(".admonition.question").forEach((box) => {
      const list = box.querySelector("ul.contains-task-list");
      if (!list) return;
      const status = document.createElement("p");
      status.className = "question-verdict";
      status.setAttribute("role", "status");
      for (const item of list.querySelectorAll(":scope > li")) {
        const mark = item.querySelector("input[type=checkbox]");
        const right = mark?.checked ?? false;
        const home = item.querySelector(":scope > p") ?? item;
        const reason = [...home.children].filter((e) => e.tagName === "EM").pop();
        mark?.remove();
        const button = document.createElement("button");
        button.type = "button";
        button.className = "question-choice";
        button.setAttribute("aria-pressed", "false");
        const place = document.createElement("span");
        place.className = "visually-hidden";
        place.textContent = `Choice ${list.querySelectorAll(".question-choice").length + 1}: `;
        while (home.firstChild && home.firstChild !== reason) button.append(home.firstChild);
        button.prepend(place);
        home.prepend(button);
        if (reason) {
          reason.classList.add("question-reason");
          reason.hidden = true;
        }
        button.addEventListener("click", () => {
          button.setAttribute("aria-pressed", "true");
          item.classList.add(right ? "right" : "wrong");
          if (reason) reason.hidden = false;
          status.textContent = `${right ? "Right." : "Not this one."} ${reason ? reason.textContent : ""}`;
          reachScrollers(box);
        });
      }
      list.classList.add("question-choices");
      status.classList.add("visually-hidden");
      box.append(status);
    });
  }

  // A bar below the title, or below the heading of the only table, narrows a page's tables to the rows with the words typed, of one chapter, of one kind (the last
  // column of a table "by-kind"); all that has no such row disappears.
  function filterTables() {
    const rows = [...document.querySelectorAll("table.filterable tbody tr")];
    if (!rows.length) return;
    const parts = [...document.querySelectorAll(".bd-article section section")].filter((s) => s.querySelector("table.filterable"));
    const chapters = parts.filter((s) => s.querySelector(":scope > h2"));
    const kindOf = (row) => row.closest("table.by-kind") ? row.lastElementChild.textContent.trim() : "";
    const bar = document.createElement("form");
    bar.className = "table-filter";
    bar.setAttribute("role", "search");
    bar.innerHTML =
      '<label>Filter <input type="search" placeholder="words, numbers" autocomplete="off" spellcheck="false"></label>' +
      '<label>Chapter <select><option value="">all</option></select></label>' +
      '<label>Kind <select><option value="">all</option></select></label><output aria-live="polite"></output>';
    const [words, choice, kind, told] = bar.querySelectorAll("input, select, output");
    choice.parentElement.hidden = chapters.length < 2;
    chapters.forEach((part, i) => choice.append(new Option(part.querySelector("h2").firstChild.textContent.trim(), String(i))));
    const kinds = [...new Set(rows.map(kindOf))].filter(Boolean);
    kind.parentElement.hidden = kinds.length < 2;
    kind.append(...kinds.map((name) => new Option(name)));
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const apply = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chapter = chapters[choice.value];
      const fits = (row) => wanted.every((word) => texts.get(row).includes(word)) &&
        (!chapter || chapter.contains(row)) && (!kind.value || kindOf(row) === kind.value);
      rows.forEach((row) => { row.hidden = !fits(row); });
      parts.forEach((part) => { part.hidden = !part.querySelector("table.filterable tbody tr:not([hidden])"); });
      document.querySelector(".bd-article").classList.toggle("narrowed", wanted.length + choice.value.length + kind.value.length > 0);
      told.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    bar.addEventListener("input", apply);
    bar.addEventListener("submit", (event) => event.preventDefault());
    (parts.length === 1 ? parts[0].querySelector("h2") : document.querySelector(".bd-article h1")).after(bar);
    apply();
  }

  // A button that opens or closes all solutions of a page.
  function openSolutions() {
    const boxes = [...document.querySelectorAll(".admonition.solution.dropdown, .solution.dropdown")];
    const button = document.querySelector("button.all-solutions");
    if (!button) return;
    const tell = () => {
      const closed = boxes.some((box) => box.classList.contains("toggle-hidden"));
      button.textContent = closed ? `Show all ${boxes.length} solutions` : `Hide all ${boxes.length} solutions`;
      return closed;
    };
    tell();
    button.addEventListener("click", () => {
      const closed = tell();
      boxes.filter((box) => box.classList.contains("toggle-hidden") === closed).forEach((box) => {
        (box.querySelector("button.toggle-button") ?? box.querySelector(".admonition-title"))?.click();
      });
      tell();
    });
  }

  // A link lands on its target. A folded box around it opens, and while formulas and pictures find their heights the
  // target stays under the header, until the reader moves.
  let settling = null;
  function land() {
    settling?.disconnect();
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
      if (box.classList.contains("toggle-hidden")) box.querySelector("button.toggle-button")?.click();
    }
    settling = new ResizeObserver(() => target.scrollIntoView({ behavior: "instant" }));
    document.querySelectorAll(".bd-article, .bd-article > section").forEach((part) => settling.observe(part));
  }
  function landWhenAsked() {
    if (performance.getEntriesByType("navigation")[0]?.type === "navigate") land(); // else the browser knows the place
    ["wheel", "touchmove", "keydown", "pointerdown"].forEach((sign) => addEventListener(sign, () => settling?.disconnect(), { capture: true, passive: true }));
    let clicked = false; // a change of the address without a click is a way back
    document.addEventListener("click", (event) => { clicked = event.target.closest?.("a[href*='#']") != null; });
    window.addEventListener("hashchange", () => {
      if (clicked) land();
      clicked = false;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    nameToggles();
    freeCitations();
    askQuestions();
    holdMarks();
    filterTables();
    openSolutions();
    setTimeout(landWhenAsked); // after the theme has folded what is folded
  });
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    document.documentElement.classList.add("math-shown"); // where no MathJax came, too: then its source is better than nothing
    reachScrollers();
    // What was searched for is marked in the text, and until the page is left.
    document.querySelectorAll("span.highlighted:not(.bd-article *)").forEach((mark) => mark.replaceWith(...mark.childNodes));
  });
  window.addEventListener("pagehide", () => {
    document.querySelectorAll("span.highlighted").forEach((mark) => mark.replaceWith(...mark.childNodes));
  });
  let pending;
  window.addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(() => reachScrollers(), 100);
  });
})();
