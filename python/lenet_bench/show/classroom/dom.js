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

/** A time as the program spells it: three digits and a unit. */
export function spelt(us) {
  const [value, unit] = us < 999.5 ? [us, "µs"] : us < 999_500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
  return `${Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 })} ${unit}`;
}

/** How many times as long, to three digits at most. */
export const times = (ratio) => Number(ratio.toPrecision(ratio < 10 ? 2 : 3)).toLocaleString("en");

/** What people call a backend. */
export const called = (one) => one.human ?? one.name;

/** A number with its sign. */
export const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

/** A picture of 0 (black) to 1 (white) as it is. */
export function paint(canvas, { width, height, channels, data }) {
  Object.assign(canvas, { width, height });
  const pixels = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * i + c] = 255 * data[channels * i + (channels > 1 ? c : 0)];
    pixels.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

/** Maps side by side in a grid, a pixel between them: blue below zero, red above, white none. */
export function paintMaps(canvas, values, { columns, side, most = largest(values) }) {
  const maps = values.length / (side * side);
  const rows = Math.ceil(maps / columns);
  const pitch = side > 1 ? side + 1 : 1;
  Object.assign(canvas, { width: columns * pitch, height: rows * pitch });
  const pixels = new ImageData(canvas.width, canvas.height);
  for (let i = 0; i < values.length; i++) {
    const [map, place] = [Math.floor(i / (side * side)), i % (side * side)];
    const x = (map % columns) * pitch + (place % side);
    const y = Math.floor(map / columns) * pitch + Math.floor(place / side);
    const strength = Math.min(1, Math.abs(values[i]) / (most || 1));
    const [r, g, b] = values[i] < 0 ? [11, 92, 173] : [194, 65, 12];
    const at = 4 * (y * canvas.width + x);
    pixels.data.set([r, g, b].map((full) => 255 + (full - 255) * strength), at);
    pixels.data[at + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

export const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
