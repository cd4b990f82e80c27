// Any picture of a digit -> 28x28 as MNIST made its own: images/ in JavaScript, step by step.

import { histogram, mean, median, roundHalfEven, share, spread, sum } from "./numbers.js";
import {
  BRIGHTNESS,
  bestView,
  checkContrast,
  components,
  digit,
  ink,
  light,
  otsu,
  seenIn,
  steepnessAlong,
} from "./ink.js";
import {
  NoInk,
  SMALL,
  bounds,
  centreOfMass,
  channel,
  clipped,
  cropped,
  fitted,
  mapped,
  padded,
  picture,
  rim,
  steepness,
} from "./planes.js";
import { filled, strings } from "./strings.js";

export { NoInk };

const f = Math.fround;
const text = strings.prepare;
const SIDE = 28;
const [AS_TALL, AS_DARK] = [0.5, 0.25]; // as the digit: what is another one
const OVERVIEW = 320; // pixels of the longer side while looking for the digit

/** Steps [{name, summary, picture}], and what adds one and returns its picture. */
function listed() {
  const steps = [];
  const step = (name, summary, made) => {
    steps.push({ name, summary, picture: made });
    return made;
  };
  return [steps, step];
}

/**
 * The steps from what was drawn on the clean pad, as bytes (red, green, blue, alpha). It is ink as it
 * is: there is no light, no table and no colour to look for. Half of the pad's pixels a side are
 * enough for the 80 in which the digit is shaped.
 */
export function drawn(rgba, width, height) {
  const [steps, step] = listed();
  const strokes = step("ink", text.drawn, inkOfPad(rgba, width, height));
  const cut = step("digit", text.digit, digit(strokes));
  steps.at(-1).side = sideOfSeveral(strokes, cut);
  step("centre", text.centre, centre(step("scale", text.scale, scale(cut))));
  return steps;
}

/** Black is ink; the mean of each four pixels. */
function inkOfPad(rgba, width, height) {
  const out = picture(height >> 1, width >> 1);
  const row = 4 * width;
  for (let y = 0, n = 0; y < out.height; y++) {
    for (let x = 0, at = 2 * y * row; x < out.width; x++, n++, at += 8) {
      out.data[n] = 1 - (rgba[at] + rgba[at + 4] + rgba[at + row] + rgba[at + row + 4]) / 1020;
    }
  }
  return out;
}

/** The steps from a picture to the network's input, in order. */
export function explain(whole) {
  const [steps, step] = listed();
  if (isMnist(whole)) {
    step("untouched", text.untouched, whole);
    return steps;
  }
  let plane = whole;
  const paper = sheet(plane);
  if (paper) plane = step("sheet", text.sheet, paper);
  const roomy = withMargin(plane);
  if (roomy) plane = step("margin", text.margin, roomy);
  const overview = fitted(plane, OVERVIEW);
  const view = bestView(overview);
  const name = text.views[view.name];
  const note = view.turned ? filled(text.turned, { view: name }) : name;
  const seen = step("grey", note, seenIn(view, overview));
  const strokes = ink(light(seen));
  const found = digit(strokes);
  const close = zoom(plane, found);
  const plain = step("zoom", close.note, seenIn(view, close.picture));
  steps.at(-1).side = sideOfSeveral(strokes, found);
  const flat = step("light", text.light, light(plain));
  const inked = step("ink", text.ink, ink(flat));
  const cut = step("digit", text.digit, digit(inked));
  if (Math.max(plane.height, plane.width) > SMALL) checkContrast(flat, cut); // enlarged is soft
  const boxed = step("scale", text.scale, scale(cut));
  step("centre", text.centre, centre(boxed));
  return steps;
}

/** The side on which the digit is where there is another one; undefined where it is alone. */
function sideOfSeveral(strokes, found) {
  const on = (value) => value > 0.5;
  const [top, bottom, left, right] = bounds(found, on);
  const rest = mapped(strokes, (value, n) => (found.data[n] > 0 ? 0 : value));
  const labels = components(rest, on);
  const sizes = new Uint32Array(labels.count + 1);
  for (const label of labels.data) sizes[label]++;
  const least = AS_DARK * share(found.data, on) * found.data.length;
  for (let number = 1; number <= labels.count; number++) {
    if (sizes[number] < least) continue;
    const [upper, lower, from, to] = bounds(labels, (label) => label === number);
    const touches = upper === 0 || from === 0 || lower === labels.height || to === labels.width; // an edge
    if (touches || lower - upper < AS_TALL * (bottom - top)) continue;
    return left + right > from + to ? "right" : "left";
  }
  return undefined;
}

/** Whether it already is what MNIST makes: a dark rim, its size, its centre of mass. */
function isMnist(plane) {
  if (plane.height !== SIDE || plane.width !== SIDE || plane.channels !== 1) return false;
  const on = (value) => value > f(0.13);
  if (share(rim(plane), on) > 0.1 || !plane.data.some(on)) return false;
  const [top, bottom, left, right] = bounds(plane, on);
  const [y, x] = centreOfMass(mapped(plane, (value) => (on(value) ? value : 0)));
  const size = Math.max(bottom - top, right - left);
  return 14 <= size && size <= 22 && Math.abs(y - 14) <= 2 && Math.abs(x - 14) <= 2;
}

// --- from a browser's pixels: images/decode.py ---------------------------------------------

/** The picture of bytes (red, green, blue, alpha): opaque, grey where all of it is. */
export function fromPixels(rgba, width, height) {
  const colored = onPaper(rgba, width, height);
  const { data } = colored;
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] !== data[at + 1] || data[at] !== data[at + 2]) return colored;
  }
  return channel(colored, 0);
}

/** Lay a transparent picture on paper: white, or black where its ink is light. */
function onPaper(rgba, width, height) {
  const color = picture(height, width, 3);
  const alpha = new Float32Array(height * width);
  let count = 0;
  for (let n = 0; n < alpha.length; n++) {
    for (let c = 0; c < 3; c++) color.data[3 * n + c] = rgba[4 * n + c] / 255;
    alpha[n] = rgba[4 * n + 3] / 255;
    if (alpha[n] > 0.5) count++;
  }
  if (count === 0) throw new NoInk();
  if (count === alpha.length) return color;
  const opaque = (_, n) => alpha[n] > 0.5;
  const seen = seenIn(BRIGHTNESS, color).data.filter(opaque);
  const photo = spread(seen) > 0.3 && count / alpha.length > 0.5; // with its corners cut off
  const dark = median(seen) < 0.5;
  const paper = [0, 1, 2].map((c) =>
    photo ? median(channel(color, c).data.filter(opaque)) : Number(dark),
  );
  return mapped(color, (value, n) => {
    const cover = alpha[Math.trunc(n / 3)];
    return f(value * cover) + f(paper[n % 3] * f(1 - cover));
  });
}

// --- the paper: images/paper.py -------------------------------------------------------------

/** The sheet of paper cut out of a darker table, null where there is no table. */
function sheet(plane) {
  const small = seenIn(BRIGHTNESS, fitted(plane, SMALL));
  const { dark: table, middle, light: level } = twoTones(small);
  const isBright = (value) => value > f(middle);
  const labels = components(small, isBright);
  if (labels.count === 0 || table > 0.75 * level || share(rim(small), isBright) > 0.4) return null;
  const sizes = new Array(labels.count + 1).fill(0);
  for (const number of labels.data) if (number) sizes[number]++;
  const largest = sizes.indexOf(Math.max(...sizes));
  const bright = mapped(small, (_, n) => (labels.data[n] === largest ? 1 : 0));
  const [top, bottom, left, right] = bounds(bright, (value) => value === 1);
  const [height, width] = [bottom - top, right - left];
  const touched = [top === 0, left === 0, bottom === small.height, right === small.width];
  if (touched.filter(Boolean).length > 2) return null; // a half of the paper that lies in the light
  const covers = (height * width) / small.data.length;
  const filling = sizes[largest] / (height * width); // 0.65 in the thickest of digits
  const narrow = Math.min(height, width) < 0.3 * Math.max(height, width);
  if (filling < 0.7 || covers < 0.15 || covers > 0.95 || narrow) return null;
  if (steepnessAlong(steepness(bright), small) < 0.2 * (level - table)) return null; // no edge
  const inset = 0.03 * Math.max(height, width);
  const inside = (whole, ratio) => {
    const ends = [top + inset, bottom - inset, left + inset, right - inset];
    return cropped(whole, ...ends.map((end) => Math.trunc(end * ratio)));
  };
  const inner = inside(small, 1);
  if (!(share(inner.data, (value) => value < f(middle)) > 0.004)) return null;
  return inside(plane, plane.height / small.height);
}

/** Room made around a thick digit that fills its picture, null where there is room. */
function withMargin(plane) {
  const little = fitted(plane, SMALL);
  const small = seenIn(BRIGHTNESS, little);
  const { dark, middle, light: level } = twoTones(small);
  const apart = level - dark;
  const isBright = (value) => value > f(middle);
  const between = (value) => Math.abs(f(value - f(middle))) < f(0.25 * apart);
  if (apart < 0.2 || share(small.data, between) > 0.15) return null; // uneven light, not two tones
  const around = outline(small).map(isBright);
  const crossings = around.filter((is, n) => is !== around.at(n - 1)).length;
  const bright = share(small.data, isBright);
  if (crossings === 2 || !(0.15 < bright && bright < 0.85)) return null; // a shadow crosses twice
  const edge = rim(little);
  const strip = picture(1, edge.length / little.channels, little.channels, edge);
  const tone = seenIn(BRIGHTNESS, strip).data;
  const mostly = share(around, Boolean) > 0.5;
  const ofPaper = (_, n) => isBright(tone[n]) === mostly;
  if (spread(tone.filter(ofPaper)) > 0.25 * apart) return null; // a shadow or a gradient
  const paper = Array.from({ length: strip.channels }, (_, c) =>
    median(channel(strip, c).data.filter(ofPaper)),
  );
  return padded(plane, roundHalfEven(0.2 * Math.max(plane.height, plane.width)), paper);
}

/** Once around the picture. */
function outline({ height, width, data }) {
  const at = (y, x) => data[y * width + x];
  const along = (count, of) => Array.from({ length: count }, (_, n) => of(n));
  return [
    ...along(width, (x) => at(0, x)),
    ...along(height, (y) => at(y, width - 1)),
    ...along(width, (x) => at(height - 1, width - 1 - x)),
    ...along(height, (y) => at(height - 1 - y, 0)),
  ];
}

/** The mean of the darker pixels, the middle, and the mean of the lighter ones. */
function twoTones(small) {
  const level = otsu(histogram(small.data, 64));
  const darker = small.data.filter((value) => value < f(level));
  const dark = darker.length ? mean(darker) : level;
  return { dark, middle: (dark + level) / 2, light: level };
}

// --- the digit's size and place: images/fit.py ----------------------------------------------

const BOX = 20; // MNIST fits the digit into this square ...
const FINE = 4; // ... and we shape the strokes in one so many times finer
const CLOSE = 224; // and while looking at it

/** Cut a small digit out of a large sheet, so that all later steps see it at one size. */
function zoom(plane, found) {
  const { height, width } = plane;
  const ratio = height / found.height;
  const [top, bottom, left, right] = bounds(found, (value) => value > 0.5);
  const size = Math.max(bottom - top, right - left);
  if (size > 0.6 * Math.max(found.height, found.width)) {
    return { picture: fitted(plane, CLOSE), note: text.zoomWhole };
  }
  const room = 0.35 * size + 2;
  const first = (at) => Math.max(0, Math.trunc((at - room) * ratio));
  const last = (at, end) => Math.min(end, Math.trunc((at + room) * ratio) + 1);
  const [y0, y1, x0, x1] = [first(top), last(bottom, height), first(left), last(right, width)];
  const part = cropped(plane, y0, y1, x0, x1);
  return { picture: fitted(part, CLOSE), note: filled(text.zoom, { x0, x1, y0, y1 }) };
}

const THIN = 2; // MNIST's strokes in pixels of the 20x20 box, thinnest ...
const THICK = 3.6; // ... and thickest
const BLOB = 8; // a filled disc or square has 10: no pen wrote it

/** Fit the digit into 20x20 (four times finer here) with strokes of MNIST's width. */
function scale(cut) {
  let fine = boxed(cut);
  if (strokeWidth(padded(fine, 1)) / FINE > BLOB) throw new NoInk(); // a square's sides lie on the box's own
  const width = strokeWidth(fine) / FINE;
  const wanted = Math.min(Math.max(width, THIN), THICK);
  if (Math.abs(wanted - width) > 0.1) {
    fine = boxed(swollen(padded(fine, 4 * FINE), ((wanted - width) * FINE) / 2));
  }
  return padded(fine, FINE);
}

/** Cropped to the ink, its longer side 20 x FINE. */
function boxed(cut) {
  const ends = bounds(cut, (value) => value > 0.5);
  return clipped(fitted(cropped(cut, ...ends), BOX * FINE));
}

/** Area over half the outline: what a stroke of any course has as its width. */
function strokeWidth(cover) {
  return (2 * sum(cover.data)) / Math.max(sum(steepness(padded(cover, 1)).data), 1e-6);
}

/** Strokes grown by `radius` pixels on each side; shrunk where it is negative. */
function swollen(cover, radius) {
  const turned = (plane) => mapped(plane, (value) => 1 - value);
  if (radius < 0) return turned(swollen(turned(cover), -radius));
  const { height, width } = cover;
  const out = mapped(cover, (value) => value);
  const reach = Math.ceil(radius);
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const inside = f(Math.min(1, radius + 0.5 - Math.hypot(y, x))); // the disc's edge is soft
      if (inside <= 0) continue;
      for (let row = 0, at = 0; row < height; row++) {
        const from = Math.min(Math.max(row + y, 0), height - 1) * width;
        for (let column = 0; column < width; column++, at++) {
          const value = cover.data[from + Math.min(Math.max(column + x, 0), width - 1)] * inside;
          if (value > out.data[at]) out.data[at] = value;
        }
      }
    }
  }
  return out;
}

/** Put the centre of mass in the middle of 28x28. */
function centre(fine) {
  const side = SIDE * FINE;
  const [y, x] = centreOfMass(fine);
  const down = roundHalfEven(side / 2 - 0.5 - y);
  const right = roundHalfEven(side / 2 - 0.5 - x);
  const at = (row, column) => {
    const inside = 0 <= row && row < fine.height && 0 <= column && column < fine.width;
    return inside ? fine.data[row * fine.width + column] : 0;
  };
  const out = picture(SIDE, SIDE);
  out.data.forEach((_, n) => {
    const [top, left] = [Math.trunc(n / SIDE) * FINE - down, (n % SIDE) * FINE - right];
    let total = 0;
    for (let j = 0; j < FINE; j++) {
      for (let k = 0; k < FINE; k++) total += at(top + j, left + k);
    }
    out.data[n] = total / FINE ** 2;
  });
  return clipped(out);
}
