// Names for screen readers, and scrolling for what is wider than the page.
(() => {
  "use strict";

  // The widget manager asks MathJax 2 to typeset; answer with MathJax 3.
  function bridgeMathJax() {
    if (window.MathJax && !window.MathJax.Hub) {
      window.MathJax.Hub = {
        Queue: (task) => window.MathJax.startup.promise.then(() => window.MathJax.typesetPromise([task[2]])),
      };
    }
  }

  // A slider's handle carries the label and the value that are printed beside it.
  function nameSlider(slider) {
    const handle = slider.querySelector("[role=slider]");
    const label = slider.querySelector(".widget-label");
    const readout = slider.querySelector(".widget-readout");
    if (!handle || handle.dataset.named) return;
    handle.dataset.named = "yes";
    handle.setAttribute("aria-label", label ? label.textContent : "slider");
    if (!readout) return;
    const tell = () => {
      if (handle.getAttribute("aria-valuetext") !== readout.textContent) {
        handle.setAttribute("aria-valuetext", readout.textContent);
      }
    };
    tell();
    new MutationObserver(tell).observe(readout, { childList: true, characterData: true, subtree: true });
    new MutationObserver(tell).observe(handle, { attributes: true, attributeFilter: ["aria-valuetext"] });
  }

  function nameSliders() {
    document.querySelectorAll(".widget-slider, .widget-inline-hbox").forEach(nameSlider);
  }

  // The small arrows that unfold a part of the table of contents have no text.
  function nameToggles() {
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
  function reachScrollers() {
    document.querySelectorAll(".bd-article mjx-container:not([display=true])").forEach((formula) => {
      const room = formula.parentElement.closest("p, li, td, dd, dt, div, h1, h2, h3, h4")?.clientWidth ?? Infinity;
      formula.classList.remove("scrolls");
      const svg = formula.querySelector("svg");
      if (svg && room > 0 && svg.getBoundingClientRect().width > room) formula.classList.add("scrolls");
    });
    document.querySelectorAll(".bd-article :is(" + WIDE + ", .scrolls)").forEach((box) => {
      if (box.scrollWidth > box.clientWidth + 1) {
        box.setAttribute("tabindex", "0");
      } else if (box.tagName !== "MJX-CONTAINER" && box.getAttribute("tabindex") === "0") {
        box.removeAttribute("tabindex");
      }
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    bridgeMathJax();
    nameToggles();
    freeCitations();
    new MutationObserver(nameSliders).observe(document.querySelector("main") ?? document.body, { childList: true, subtree: true });
  });
  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    reachScrollers();
  });
  let pending;
  window.addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(reachScrollers, 100);
  });
})();
