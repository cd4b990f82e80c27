// images/planes.py in JavaScript, and what it and its neighbours take of NumPy and Pillow.
//
// A picture is {height, width, channels: 1 | 3, data: Float32Array} of 0 to 1, row by row, colours
// innermost. Values are rounded to float32 (`f`) where NumPy's are, so that a pixel that lies on a
// threshold falls to the same side here as there.

import { roundHalfEven, sum } from "./numbers.js";
import { strings } from "./strings.js";

const f = Math.fround;

export const SMALL = 96; // enough to judge contrast and light

/** Nothing stands out from the paper. */
export class NoInk extends Error {
  constructor() {
    super(strings.prepare.noInk);
  }
}

export function picture(height, width, channels = 1, data = null) {
  return { height, width, channels, data: data ?? new Float32Array(height * width * channels) };
}

/** What `of` makes of each value, as a picture of the same shape. */
export function mapped(plane, of) {
  const { height, width, channels, data } = plane;
  const out = new Float32Array(height * width * channels);
  for (let n = 0; n < out.length; n++) out[n] = of(data[n], n);
  return { height, width, channels, data: out };
}

/** One colour of the picture. */
export function channel({ height, width, channels, data }, which) {
  return mapped(picture(height, width), (_, n) => data[channels * n + which]);
}

export function clipped(plane) {
  return mapped(plane, (value) => Math.min(Math.max(value, 0), 1));
}

/** Rows top to bottom and columns left to right, exclusive of the last, as Python slices. */
export function cropped(plane, top, bottom, left, right) {
  const { channels } = plane;
  const to = { bottom: Math.min(bottom, plane.height), right: Math.min(right, plane.width) };
  const out = picture(Math.max(0, to.bottom - top), Math.max(0, to.right - left), channels);
  const row = out.width * channels;
  for (let y = 0; y < out.height; y++) {
    const from = ((top + y) * plane.width + left) * channels;
    out.data.set(plane.data.subarray(from, from + row), y * row);
  }
  return out;
}

/** The picture with `border` pixels around it, of one value a channel. */
export function padded(plane, border, paper = [0]) {
  const { height, width, channels } = plane;
  const out = picture(height + 2 * border, width + 2 * border, channels);
  for (let i = 0; i < out.data.length; i++) out.data[i] = paper[i % channels];
  const row = width * channels;
  for (let y = 0; y < height; y++) {
    const at = ((border + y) * out.width + border) * channels;
    out.data.set(plane.data.subarray(y * row, (y + 1) * row), at);
  }
  return out;
}

export function fitted(plane, side) {
  const factor = side / Math.max(plane.height, plane.width);
  const length = (whole) => Math.max(3, roundHalfEven(whole * factor));
  return resized(plane, length(plane.height), length(plane.width));
}

/** The picture at that size: averaged where it shrinks, smooth where it grows. */
export function resized(plane, height, width) {
  if (plane.height === height && plane.width === width) return plane;
  const filter = height < plane.height ? BOX : BICUBIC;
  return downwards(sideways(plane, width, filter), height, filter);
}

// Pillow's filters and how far they reach.
const BOX = { reach: 0.5, of: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) };
const BICUBIC = {
  reach: 2,
  of: (x) => {
    x = Math.abs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
  },
};

/** For each new pixel, the first old one that it takes, and the weights from there. */
function shares(before, after, filter) {
  const scale = before / after;
  const widened = Math.max(scale, 1);
  const reach = filter.reach * widened;
  return Array.from({ length: after }, (_, n) => {
    const middle = (n + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach + 0.5));
    const end = Math.min(before, Math.trunc(middle + reach + 0.5));
    const weights = [];
    let total = 0;
    for (let x = first; x < end; x++) {
      const weight = filter.of((x - middle + 0.5) * (1 / widened));
      weights.push(weight);
      total += weight;
    }
    return { first, weights: total === 0 ? weights : weights.map((weight) => weight / total) };
  });
}

function sideways(plane, width, filter) {
  const { height, channels } = plane;
  if (plane.width === width) return plane;
  const out = picture(height, width, channels);
  const all = shares(plane.width, width, filter);
  let to = 0;
  for (let y = 0; y < height; y++) {
    for (const { first, weights } of all) {
      for (let c = 0; c < channels; c++) {
        let sum = 0;
        let at = (y * plane.width + first) * channels + c;
        for (let k = 0; k < weights.length; k++, at += channels) sum += plane.data[at] * weights[k];
        out.data[to++] = sum;
      }
    }
  }
  return out;
}

function downwards(plane, height, filter) {
  if (plane.height === height) return plane;
  const row = plane.width * plane.channels;
  const out = picture(height, plane.width, plane.channels);
  let to = 0;
  for (const { first, weights } of shares(plane.height, height, filter)) {
    for (let x = 0; x < row; x++) {
      let sum = 0;
      let at = first * row + x;
      for (let k = 0; k < weights.length; k++, at += row) sum += plane.data[at] * weights[k];
      out.data[to++] = sum;
    }
  }
  return out;
}

/** The maximum over a square of 2 reach + 1. */
export function highest(plane, reach) {
  const { height, width } = plane;
  const out = picture(height, width, 1, plane.data.slice());
  const values = new Float32Array(Math.max(height, width));
  const slide = (start, step, count) => {
    for (let n = 0; n < count; n++) values[n] = out.data[start + n * step];
    for (let n = 0; n < count; n++) {
      let most = values[n];
      const end = Math.min(n + reach, count - 1);
      for (let k = Math.max(n - reach, 0); k <= end; k++) if (values[k] > most) most = values[k];
      out.data[start + n * step] = most;
    }
  };
  for (let x = 0; x < width; x++) slide(x, width, height);
  for (let y = 0; y < height; y++) slide(y * width, 1, width);
  return out;
}

/** The minimum over the same square. */
export function lowest(plane, reach) {
  const turned = highest(mapped(plane, (value) => -value), reach);
  return mapped(turned, (value) => -value);
}

/** Averaged with its neighbours by 1-2-1 in both directions. */
export function blurred(plane, times = 1) {
  const { height, width } = plane;
  const down = new Float32Array(height * width);
  for (; times > 0; times--) {
    const { data } = plane;
    const out = picture(height, width);
    for (let y = 0; y < height; y++) {
      const above = Math.max(y - 1, 0) * width;
      const here = y * width;
      const below = Math.min(y + 1, height - 1) * width;
      for (let x = 0; x < width; x++) {
        down[here + x] = f(data[above + x] + 2 * data[here + x]) + data[below + x];
      }
      for (let x = 0; x < width; x++) {
        const left = down[here + Math.max(x - 1, 0)];
        const right = down[here + Math.min(x + 1, width - 1)];
        out.data[here + x] = f(f(left + 2 * down[here + x]) + right) / 16;
      }
    }
    plane = out;
  }
  return plane;
}

/** The length of the gradient. */
export function steepness(plane) {
  const { height, width, data } = plane;
  const out = picture(height, width);
  const slope = (at, n, count, step) => {
    if (n === 0) return f(data[at + step] - data[at]);
    if (n === count - 1) return f(data[at] - data[at - step]);
    return f(data[at + step] - data[at - step]) / 2;
  };
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      const down = slope(at, y, height, width);
      const across = slope(at, x, width, 1);
      out.data[at] = Math.sqrt(down * down + across * across);
    }
  }
  return out;
}

/** The outermost pixels, the corners twice: (top, bottom, left, right), `channels` values each. */
export function rim(plane) {
  const { height, width, channels, data } = plane;
  const out = [];
  const take = (y, x) => {
    for (let c = 0; c < channels; c++) out.push(data[(y * width + x) * channels + c]);
  };
  for (const y of [0, height - 1]) for (let x = 0; x < width; x++) take(y, x);
  for (const x of [0, width - 1]) for (let y = 0; y < height; y++) take(y, x);
  return Float32Array.from(out);
}

/** [top, bottom, left, right] of where `is` holds, bottom and right exclusive. */
export function bounds({ height, width, data }, is) {
  let [top, bottom, left, right] = [height, 0, width, 0];
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      if (!is(data[at])) continue;
      top = Math.min(top, y);
      bottom = y + 1;
      left = Math.min(left, x);
      right = Math.max(right, x + 1);
    }
  }
  if (bottom === 0) throw new NoInk();
  return [top, bottom, left, right];
}

/** [row, column] */
export function centreOfMass({ height, width, data }) {
  const total = sum(data) || 1;
  let [y, x] = [0, 0];
  for (let row = 0; row < height; row++) {
    y += row * sum(data.subarray(row * width, (row + 1) * width));
  }
  for (let column = 0; column < width; column++) {
    let of = 0;
    for (let at = column; at < data.length; at += width) of = f(of + data[at]);
    x += column * of;
  }
  return [y / total, x / total];
}
