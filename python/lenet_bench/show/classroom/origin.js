// Where a number comes from: the window that it saw, the kernel that weighed it, and their sum.
import { element, fixed, largest, paintMaps, say, signed } from "./dom.js";
import { KERNEL, SHAPES, box, cell } from "./shapes.js";

const POOL1 = 12;
const POOL2 = 4;

/** What a number is the sum of: named terms of value x weight, and a bias. */
export function terms(layer, index, seen, weights) {
  if (layer === "fc2") return dense(seen.fc1, weights.fc2_weight, weights.fc2_bias, index, "fc1");
  if (layer === "fc1") return dense(seen.pool2, weights.fc1_weight, weights.fc1_bias, index, "pool2");
  const [before, from, channels, out, name] = layer === "pool2"
    ? [seen.pool1, POOL1, 20, POOL2, "conv2"]
    : [seen.image, 28, 1, POOL1, "conv1"];
  const map = Math.floor(index / (out * out));
  const [y, x] = [Math.floor((index % (out * out)) / out), index % out];
  const sums = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([dy, dx]) =>
    convolved(before, from, channels, weights, name, map, 2 * y + dy, 2 * x + dx));
  const first = sums.reduce((best, one) => (one.sum > best.sum ? one : best));
  return { ...first, sums: sums.map((one) => one.sum) };
}

function dense(values, weight, bias, index, from) {
  const products = values.map((value, i) => value * weight[index * values.length + i]);
  const sum = products.reduce((total, product) => total + product, bias[index]);
  return { from, products, bias: bias[index], sum, weight: (i) => weight[index * values.length + i] };
}

function convolved(before, from, channels, weights, name, map, y, x) {
  const [weight, bias] = [weights[`${name}_weight`], weights[`${name}_bias`][map]];
  const [window, kernel, products] = [[], [], []];
  for (let channel = 0; channel < channels; channel++) {
    for (let i = 0; i < KERNEL * KERNEL; i++) {
      const [dy, dx] = [Math.floor(i / KERNEL), i % KERNEL];
      window.push(before[(channel * from + y + dy) * from + x + dx]);
      kernel.push(weight[(map * channels + channel) * KERNEL * KERNEL + i]);
      products.push(window.at(-1) * kernel.at(-1));
    }
  }
  const sum = products.reduce((total, product) => total + product, bias);
  return { from: channels > 1 ? "pool1" : "image", window, kernel, products, bias, sum, y, x };
}

/**
 * Fills the panel; what it names can be followed further. Returns what is outlined in the pictures:
 * the value, and the window that it saw.
 */
export function origin(panel, { layer, index, seen, weights, follow, close, slide, moves, more }) {
  const found = terms(layer, index, seen, weights);
  const value = seen[layer][index];
  const inMap = SHAPES[layer] ? cell(layer, index) : { index };
  const back = layer === "pool1" ? [] : [strongest(layer === "pool2" ? inMaps(found) : found, seen, follow)];
  const parts = [element("h3", { tabindex: "-1" }, say(`origin.${layer}`, { ...inMap, value: fixed(value) })), ...back];
  const marks = SHAPES[layer] ? { [layer]: [[...box(layer, inMap.map, inMap.y, inMap.x), "own"]] } : {};
  if (layer === "fc2" || layer === "fc1") {
    parts.push(element("p", {}, say("origin.dense", {
      count: found.products.length, bias: signed(found.bias), sum: fixed(found.sum),
    })));
    if (layer === "fc1" && found.sum < 0) parts.push(element("p", {}, say("origin.relu")));
    parts.push(products(found, found.from));
    if (layer === "fc2") parts.push(softmaxTable(seen, index));
  } else {
    parts.push(element("p", {}, say("origin.pool", {
      sums: found.sums.map(fixed).join(", "), y: found.y, x: found.x,
    })));
    parts.push(element("p", {}, say("origin.conv", {
      count: found.products.length, bias: signed(found.bias), sum: fixed(found.sum),
    })));
    parts.push(windows(found));
    parts.push(element("button", { type: "button", id: "slide", click: slide }, say(moves ? "origin.stop" : "origin.slide")));
    const maps = found.from === "pool1" ? 20 : 1;
    marks[found.from] = Array.from({ length: maps }, (_, map) => box(found.from, map, found.y, found.x, KERNEL));
  }
  const shut = element("button", { type: "button", id: "close", click: close }, say("origin.close"));
  const focused = panel.contains(document.activeElement) ? document.activeElement : null;
  panel.setAttribute("aria-busy", moves); // or each place of the window is read aloud
  panel.replaceChildren(shut, ...parts, ...more);
  if (focused) ((focused.id && document.getElementById(focused.id)) || parts[0]).focus();
  return marks;
}

/** The ten outputs, e to the power of each, and its share of their sum. */
function softmaxTable(seen, index) {
  const powers = [...seen.fc2].map(Math.exp);
  const sum = powers.reduce((total, power) => total + power, 0);
  const heads = ["digit", "output", "power", "share"].map((name) => element("th", { scope: "col" }, say(`origin.softmax.${name}`)));
  const spelled = (power) => power.toLocaleString("en", { maximumSignificantDigits: 2 });
  return element("table", { class: "softmax" }, element("caption", {}, say("origin.softmax.title")),
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...powers.map((power, digit) => element("tr", { class: digit === index ? "own" : undefined },
      element("th", { scope: "row" }, String(digit)), element("td", {}, seen.fc2[digit].toFixed(1)),
      element("td", {}, spelled(power)), element("td", {}, `${((100 * power) / sum).toFixed(1)} %`)))));
}

/** The products in the places of what they weigh: red pushes up, blue pulls down. */
function products(found, from) {
  const canvas = element("canvas", { class: "products", role: "img" });
  canvas.setAttribute("aria-label", say("origin.products"));
  paintMaps(canvas, found.products, SHAPES[from]);
  return element("figure", {}, canvas, element("figcaption", {}, say("origin.products")));
}

/** The five products that count most, each a way further back. */
function strongest(found, seen, follow) {
  const order = [...found.products.keys()].sort((a, b) => Math.abs(found.products[b]) - Math.abs(found.products[a]));
  const rows = order.slice(0, 5).map((i) => element("li", {},
    element("button", { type: "button", click: () => follow(found.from, i) },
      say("origin.product", {
        name: say(`origin.place.${found.from}`, cell(found.from, i)),
        ...multiplied(seen[found.from][i], found.weight(i)),
      }))));
  return element("ol", { class: "strongest" }, ...rows);
}

/** A value and a weight in three decimals, and the product of what is shown. */
function multiplied(value, weight) {
  const [left, right] = [value.toFixed(3), weight.toFixed(3)];
  return { value: left, weight: right, product: signed(left * right) };
}

/** conv2's products by the place in pool1 that each weighs. */
function inMaps(found) {
  const [products, weight] = [new Float32Array(20 * POOL1 * POOL1), new Map()];
  found.products.forEach((product, i) => {
    const [channel, k] = [Math.floor(i / (KERNEL * KERNEL)), i % (KERNEL * KERNEL)];
    const at = (channel * POOL1 + found.y + Math.floor(k / KERNEL)) * POOL1 + found.x + (k % KERNEL);
    products[at] = product;
    weight.set(at, found.kernel[i]);
  });
  return { from: "pool1", products, weight: (i) => weight.get(i) ?? 0 };
}

/** The window, the kernel and their products, side by side. */
function windows(found) {
  const columns = found.from === "pool1" ? 5 : 1;
  const figures = ["window", "kernel", "products"].map((name) => {
    const canvas = element("canvas", { class: `window ${columns > 1 ? "many" : "one"}`, role: "img" });
    canvas.setAttribute("aria-label", say(`origin.${name}`));
    paintMaps(canvas, found[name], { columns, side: KERNEL, most: largest(found[name]) });
    return element("figure", {}, canvas, element("figcaption", {}, say(`origin.${name}`)));
  });
  return element("div", { class: "windows" }, figures[0], element("b", {}, "×"), figures[1],
    element("b", {}, "="), figures[2]);
}
