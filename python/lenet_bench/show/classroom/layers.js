// Every layer of the network as it is, and the way back from a number to what it was made of.
import { element, paint, paintMaps, say } from "./dom.js";
import { origin } from "./origin.js";
import { SHAPES } from "./shapes.js";

/** The number of the value at a point of the layer's picture; null between the maps. */
function under(layer, x, y) {
  const { columns, side } = SHAPES[layer];
  const pitch = side > 1 ? side + 1 : 1;
  const [column, row, dx, dy] = [Math.floor(x / pitch), Math.floor(y / pitch), x % pitch, y % pitch];
  if (dx >= side || dy >= side || column >= columns) return null;
  return ((row * columns + column) * side + dy) * side + dx;
}

/** Draws into `root`, explains in `panel`; returns what shows a new answer. */
export function layers(root, panel, weights) {
  let seen = null;
  let focus = null; // the value that is explained: {layer, index}
  const pictures = {};
  const outputs = [];

  const follow = (layer, index) => {
    focus = { layer, index };
    show();
  };
  for (const layer of Object.keys(SHAPES)) {
    const canvas = element("canvas", { id: `layer-${layer}`, "data-layer": layer, role: "img" });
    canvas.setAttribute("aria-label", say(`network.layers.${layer}`));
    if (layer !== "image") {
      canvas.addEventListener("click", (event) => {
        const scale = canvas.width / canvas.clientWidth;
        const index = under(layer, Math.floor(event.offsetX * scale), Math.floor(event.offsetY * scale));
        if (seen && index !== null) follow(layer, index);
      });
    }
    pictures[layer] = canvas;
    root.append(element("figure", { id: `map-${layer}`, "data-stage": SHAPES[layer].stages }, canvas,
      element("figcaption", {}, say(`network.layers.${layer}`))));
  }
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
    for (const [layer, shape] of Object.entries(SHAPES)) {
      const { side, columns } = shape;
      if (layer === "image") {
        const data = seen ? seen.image.map((ink) => 1 - ink) : new Float32Array(784).fill(1);
        paint(pictures.image, { width: 28, height: 28, channels: 1, data });
      } else {
        const count = { pool1: 2880, pool2: 800, fc1: 500 }[layer];
        paintMaps(pictures[layer], seen?.[layer] ?? new Float32Array(count), { columns, side });
      }
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
    panel.hidden = !(seen && focus);
    if (seen && focus) origin(panel, { ...focus, seen, weights, follow, pictures });
  }

  return (now) => {
    seen = now;
    if (!now) focus = null;
    show();
  };
}
