// Every layer of the network as it is, and the way back from a number to what it was made of.
import { element, fixed, paint, paintMaps, say } from "./dom.js";
import { outlined } from "./marks.js";
import { origin } from "./origin.js";
import { COUNTS, SHAPES, cell, under } from "./shapes.js";

const SLIDE_MS = 120; // a place of the window

/**
 * Draws into `root`, explains in `panel`; returns what shows a new answer. `controls` are more
 * elements about the value that is explained.
 */
export function layers(root, panel, weights, controls = () => []) {
  let seen = null;
  let focus = null; // the value that is explained: {layer, index}
  let sliding = null; // the timer of the window that moves
  const [pictures, outlines, values] = [{}, {}, {}];
  const outputs = [];

  const slideTo = (layer, index) => {
    focus = { layer, index };
    show();
  };
  /** Each step begins at the top: of the panel, and of the section where the maps are off the screen. */
  const follow = (layer, index) => {
    slideTo(layer, index);
    panel.scrollTop = 0;
    if (root.getBoundingClientRect().top < 0) root.closest("section").scrollIntoView();
  };
  const close = () => {
    stop();
    const { layer, index } = focus;
    const byKeys = panel.querySelector(":focus-visible"); // else the page keys are the lesson's
    focus = null;
    show();
    if (byKeys) (layer === "fc2" ? outputs[index].button : pictures[layer]).focus();
  };
  const stop = () => {
    clearInterval(sliding);
    sliding = null;
  };
  /** The window over every place of its map, one after the other; a step where motion is unwanted. */
  const slide = () => {
    if (sliding !== null) {
      stop();
      return show();
    }
    const places = SHAPES[focus.layer].side ** 2;
    const first = focus.index - (focus.index % places);
    const on = () => slideTo(focus.layer, first + ((focus.index + 1) % places));
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return on();
    let left = places;
    sliding = setInterval(() => {
      left -= 1;
      if (left === 0) stop();
      on();
    }, SLIDE_MS);
    on();
  };
  const spell = (layer, index) => {
    values[layer].textContent = seen && index !== null
      ? say(`network.value.${layer}`, { ...cell(layer, index), value: fixed(seen[layer][index]) }) : "";
  };

  for (const layer of Object.keys(SHAPES)) {
    const canvas = element("canvas", { id: `layer-${layer}`, "data-layer": layer, role: layer === "image" ? "img" : "application" });
    canvas.setAttribute("aria-label", [say(`network.layers.${layer}`), ...(layer === "image" ? [] : [say("network.keys")])].join(". "));
    const { frame, outline } = outlined(canvas);
    values[layer] = element("output", { class: "value" });
    const at = (event) => {
      const scale = canvas.width / canvas.clientWidth;
      return under(layer, Math.floor(event.offsetX * scale), Math.floor(event.offsetY * scale));
    };
    canvas.addEventListener("pointermove", (event) => spell(layer, at(event)));
    canvas.addEventListener("pointerleave", () => spell(layer, null));
    if (layer !== "image") {
      canvas.addEventListener("click", (event) => {
        const index = at(event);
        canvas.blur(); // or it would keep the page keys, which a clicker sends
        if (seen && index !== null) follow(layer, index);
      });
      byKeyboard(canvas, layer, (index) => spell(layer, index), (index) => seen && follow(layer, index));
      if (SHAPES[layer].side > 1) frame.append(numbers(layer));
    }
    [pictures[layer], outlines[layer]] = [canvas, outline];
    root.append(element("figure", { id: `map-${layer}`, "data-stage": SHAPES[layer].stages }, frame,
      element("figcaption", {}, say(`network.layers.${layer}`), " ", values[layer])));
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && focus) close(); });
  const bars = element("div", { id: "outputs" });
  for (let digit = 0; digit < 10; digit++) {
    const bar = element("i");
    const share = element("span");
    const button = element("button", { type: "button", click: () => seen && follow("fc2", digit) },
      element("b", {}, String(digit)), bar, share);
    outputs.push({ button, bar, share });
    bars.append(button);
  }
  root.append(element("figure", { id: "map-fc2", "data-stage": "fc2,softmax" }, bars,
    element("figcaption", {}, say("network.layers.fc2"))));

  function show() {
    for (const [layer, { side, columns }] of Object.entries(SHAPES)) {
      if (layer === "image") {
        const data = seen ? seen.image.map((ink) => 1 - ink) : new Float32Array(COUNTS.image).fill(1);
        paint(pictures.image, { width: 28, height: 28, channels: 1, data });
      } else paintMaps(pictures[layer], seen?.[layer] ?? new Float32Array(COUNTS[layer]), { columns, side });
    }
    const most = seen ? Math.max(...seen.probabilities) : 1;
    outputs.forEach(({ button, bar, share }, digit) => {
      const probability = seen?.probabilities[digit] ?? 0;
      bar.style.inlineSize = `${70 * probability}%`;
      share.textContent = seen ? `${(100 * probability).toFixed(1)} %` : "";
      button.classList.toggle("first", seen !== null && probability === most);
      button.setAttribute("aria-label", say("network.output", { digit, percent: share.textContent }));
      button.disabled = !seen;
    });
    const explained = seen !== null && focus !== null;
    panel.hidden = !explained;
    panel.parentElement.classList.toggle("traced", explained);
    const marks = explained
      ? origin(panel, { ...focus, seen, weights, follow, close, slide, moves: sliding !== null, more: controls(focus.layer, focus.index) })
      : {};
    for (const [layer, outline] of Object.entries(outlines)) outline(marks[layer] ?? []);
  }

  return (now) => {
    seen = now;
    if (!now) {
      stop();
      focus = null;
    }
    show();
  };
}

/** Arrows go from value to value, page keys from map to map, Enter asks where the value comes from. */
function byKeyboard(canvas, layer, spell, follow) {
  canvas.tabIndex = 0;
  const { side, columns } = SHAPES[layer];
  const map = side * side;
  const [down, page] = side > 1 ? [side, map] : [columns, columns];
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: -down, PageDown: page, PageUp: -page };
  let at = 0;
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") follow(at);
    else if (!(event.key in steps)) return;
    else {
      const next = at + steps[event.key];
      if (next >= 0 && next < COUNTS[layer]) at = next;
      spell(at);
    }
    event.preventDefault();
  });
  canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) spell(at); });
  canvas.addEventListener("blur", () => spell(null));
}

/** The number of each map, in its corner. */
function numbers(layer) {
  const { side, columns } = SHAPES[layer];
  const maps = COUNTS[layer] / side ** 2;
  const made = element("div", { class: "numbers", "aria-hidden": "true" },
    ...Array.from({ length: maps }, (_, map) => element("span", {}, element("b", {}, String(map)))));
  made.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  return made;
}
