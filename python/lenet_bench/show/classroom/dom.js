// Elements, sentences, and pictures on a canvas.
import { filled, strings } from "./strings.js";

export const $ = (id) => document.getElementById(id);

/** An element with its attributes and what is in it; a function is a listener. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** The sentence of that key ("race.start"), with what stands in braces filled in. */
export function say(key, values = {}) {
  const text = key.split(".").reduce((found, part) => found?.[part], strings);
  return text === undefined ? undefined : filled(text, values);
}

/** Fills in the sentences that the page's elements name. */
export function speakAll() {
  document.title = say("title");
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = say(one.dataset.text);
  for (const one of document.querySelectorAll("[data-label]")) {
    one.setAttribute("aria-label", say(one.dataset.label));
  }
}

function inUnits(us, padded) {
  const [value, unit] = us > 0 && us < 0.9995 ? [us * 1e3, "ns"] : us < 999.5 ? [us, "µs"] : us < 999_500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
  const places = value ? Math.max(0, 2 - Math.floor(Math.log10(value.toPrecision(3)))) : 0;
  return `${value.toLocaleString("en", { minimumFractionDigits: padded ? places : 0, maximumFractionDigits: places })} ${unit}`;
}

/** A time as the program spells it: three digits, or all before the point, and a unit. */
export const spelt = (us) => inUnits(us, true);

/** The same of a round time, as axes have them: without zeros at its end. */
export const round = (us) => inUnits(us, false);

/** How many times as long, in two digits. */
export const times = (ratio) => Number(ratio.toPrecision(2)).toLocaleString("en");

/** What people call a backend. */
export const called = (one) => one.human ?? one.name;

/** Two digits after the point, and zero without a sign. */
export const fixed = (value) => (Math.abs(value) < 0.005 ? "0.00" : value.toFixed(2));

/** A number with its sign. */
export const signed = (value) => {
  const size = fixed(Math.abs(value));
  return size === "0.00" ? size : `${value < 0 ? "−" : "+"}${size}`;
};

/** A picture of 0 (black) to 1 (white) as it is. */
export function paint(canvas, { width, height, channels, data }) {
  const pixels = new ImageData(width, height);
  const bytes = pixels.data; // each look at `pixels` costs
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) bytes[4 * i + c] = 255 * data[channels * i + (channels > 1 ? c : 0)];
    bytes[4 * i + 3] = 255;
  }
  sized(canvas, pixels).putImageData(pixels, 0, 0);
}

const [ABOVE, BELOW] = [[194, 65, 12], [11, 92, 173]];

/** Maps side by side in a grid, a pixel between them: blue below zero, red above, white none. */
export function paintMaps(canvas, values, { columns, side, most = largest(values) }) {
  const maps = values.length / (side * side);
  const pitch = side > 1 ? side + 1 : 1;
  const pixels = new ImageData(columns * pitch, Math.ceil(maps / columns) * pitch);
  const bytes = pixels.data;
  for (let map = 0, i = 0; map < maps; map++) {
    const first = Math.floor(map / columns) * pitch * pixels.width + (map % columns) * pitch;
    for (let place = 0; place < side * side; place++, i++) {
      const at = 4 * (first + Math.floor(place / side) * pixels.width + (place % side));
      const strength = Math.min(1, Math.abs(values[i]) / (most || 1));
      const full = values[i] < 0 ? BELOW : ABOVE;
      for (let c = 0; c < 3; c++) bytes[at + c] = 255 + (full[c] - 255) * strength;
      bytes[at + 3] = 255;
    }
  }
  sized(canvas, pixels).putImageData(pixels, 0, 0);
}

/** What draws on the canvas, once it is of that size: to set it clears and costs. */
export function sized(canvas, { width, height }) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  return canvas.getContext("2d");
}

export const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
