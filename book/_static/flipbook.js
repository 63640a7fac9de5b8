// Sliders of the static page, without a kernel: they show the pictures that the notebook stored in the page.
//
// A flipbook is stored as widgets: a box that holds one or two sliders and a stack of pictures, or a stack of stacks.
// A choice among names is stored as a select box in place of a slider. This script reads them from the page, and puts
// the browser's controls and one picture in the place of each box.
(() => {
  "use strict";

  const STATE = "script[type='application/vnd.jupyter.widget-state+json']";
  const VIEW = "script[type='application/vnd.jupyter.widget-view+json']";

  // The stored widgets by their number.
  function storedWidgets() {
    const models = {};
    document.querySelectorAll(STATE).forEach((script) => Object.assign(models, JSON.parse(script.textContent).state));
    return models;
  }

  // The picture at a position: follow the stacks down, one index for each slider.
  function pictureAt(models, stack, indices) {
    const id = stack.state.children[indices[0]].replace("IPY_MODEL_", "");
    const child = models[id];
    return child.model_name === "StackModel" ? pictureAt(models, child, indices.slice(1)) : child.state.value;
  }

  // What the first bytes of a PNG in a data address say: its size, so that the text below stands still while it is
  // decoded, and the columns between its panels.
  function describe(image) {
    const head = atob(image.src.slice(image.src.indexOf(",") + 1).slice(0, 256));
    const number = (at) => [0, 1, 2, 3].reduce((sum, i) => 256 * sum + head.charCodeAt(at + i), 0);
    [image.width, image.height] = [number(16), number(20)];
    const panels = head.match(/tEXtpanels\0([\d ]+);/);
    if (panels) image.dataset.panels = panels[1];
  }

  // One slider with its label and the value that it shows; `move` is called with each new position.
  function makeSlider(model, move) {
    const labels = model.state._options_labels;
    const row = document.createElement("label");
    row.className = "flipbook-slider";
    const name = document.createElement("span");
    name.textContent = model.state.description;
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 0, max: labels.length - 1, step: 1, value: model.state.index });
    slider.setAttribute("aria-label", model.state.description);
    const readout = document.createElement("output");
    const tell = () => {
      readout.textContent = labels[slider.value];
      slider.setAttribute("aria-valuetext", labels[slider.value]);
    };
    slider.addEventListener("input", () => {
      tell();
      move(Number(slider.value));
    });
    tell();
    row.append(name, slider, readout);
    return row;
  }

  // One select box with its label.
  function makeChoice(model, move) {
    const row = document.createElement("label");
    row.className = "flipbook-slider";
    const name = document.createElement("span");
    name.textContent = model.state.description;
    const choice = document.createElement("select");
    choice.append(...model.state._options_labels.map((label) => new Option(label)));
    choice.selectedIndex = model.state.index;
    choice.setAttribute("aria-label", model.state.description);
    choice.addEventListener("change", () => move(choice.selectedIndex));
    row.append(name, choice);
    return row;
  }

  const CONTROLS = { SelectionSliderModel: makeSlider, DropdownModel: makeChoice };

  function makeFlipbook(models, box) {
    const parts = box.state.children.map((child) => models[child.replace("IPY_MODEL_", "")]);
    const sliders = parts.filter((part) => part.model_name in CONTROLS);
    const stack = parts.find((part) => part.model_name === "StackModel");
    const indices = sliders.map((slider) => slider.state.index);
    const book = document.createElement("div");
    book.className = "companion-flipbook";
    const frame = document.createElement("div");
    frame.className = "flipbook-picture";
    const show = () => {
      frame.innerHTML = pictureAt(models, stack, indices);
      const image = frame.querySelector("img");
      if (!image?.src.startsWith("data:image/png")) return;
      describe(image);
      window.stackPanels?.(image);
    };
    sliders.forEach((slider, i) => book.append(CONTROLS[slider.model_name](slider, (index) => {
      indices[i] = index;
      show();
    })));
    show();
    book.append(frame);
    return book;
  }

  window.companionPicture = (image) => {
    describe(image);
    window.stackPanels?.(image);
  };
  window.companionFlipbook = (models, id) => models[id]?.state._dom_classes?.includes("companion-flipbook") && makeFlipbook(models, models[id]);

  document.addEventListener("DOMContentLoaded", () => {
    const models = storedWidgets();
    document.querySelectorAll(VIEW).forEach((script) => {
      const box = models[JSON.parse(script.textContent).model_id];
      if (box?.state._dom_classes?.includes("companion-flipbook")) script.after(makeFlipbook(models, box));
    });
  });
})();
