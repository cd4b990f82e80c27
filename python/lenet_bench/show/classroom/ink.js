// images/ink.py, digit.py and view.py in JavaScript: ink and paper separated in any light, the
// strokes that make up the digit, and the colours in which it stands out.

import {
  deviation,
  histogram,
  mean,
  median,
  quantiles,
  roundHalfEven,
  share,
  sum,
} from "./numbers.js";
import {
  NoInk,
  SMALL,
  blurred,
  clipped,
  fitted,
  highest,
  lowest,
  mapped,
  picture,
  resized,
  rim,
  steepness,
} from "./planes.js";

const f = Math.fround;
const longer = ({ height, width }) => Math.max(height, width);

// --- ink and paper --------------------------------------------------------------------------

const REACH = 0.16; // of the longer side: a window of twice it is wider than any stroke

/** Divide the paper's own brightness out: 0 = paper, towards 1 = ink. */
export function light(plain) {
  const small = blurred(fitted(plain, SMALL));
  const course = mapped(trend(small), (value) => Math.max(value, f(0.05)));
  const shorter = Math.min(small.height, small.width);
  const most = Math.min(roundHalfEven(REACH * longer(small)), roundHalfEven(0.45 * shorter));
  const reach = Math.max(3, most);
  const even = mapped(small, (value, n) => value / course.data[n]);
  const closed = lowest(highest(even, reach), reach);
  const paper = blurred(mapped(closed, (value, n) => value * course.data[n]));
  const { data } = resized(paper, plain.height, plain.width);
  return mapped(plain, (value, n) => 1 - f(value / Math.max(data[n], f(0.02))));
}

/** The light's slow course over the paper: a quadratic through the majority of the pixels. */
function trend(seen) {
  const { height, width } = seen;
  const few = [];
  const values = [];
  for (let row = 0; row < height; row += 2) {
    for (let column = 0; column < width; column += 2) {
      few.push(terms(seen, row, column)); // every fourth pixel says as much
      values.push(seen.data[row * width + column]);
    }
  }
  const middle = median(Float64Array.from(values));
  let rest = Float64Array.from(values, (value) => value - middle);
  let course = null;
  for (let turn = 0; turn < 6; turn++) {
    const spread = 1.5 * median(rest.map(Math.abs)) + 0.01;
    const weights = rest.map((value) => 1 / (1 + (value / spread) ** 2) ** 2);
    course = leastSquares(few, values, weights); // what lies far off is ink and has no say
    rest = rest.map((_, n) => values[n] - product(few[n], course));
  }
  return mapped(seen, (_, n) => product(terms(seen, Math.trunc(n / width), n % width), course));
}

function terms({ height, width }, row, column) {
  const y = row * (2 / (height - 1)) - 1;
  const x = column * (2 / (width - 1)) - 1;
  return [1, x, y, x * x, x * y, y * y];
}

function product(a, b) {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
}

/** What, of the rows' terms, comes closest to the values: Gauss with pivots. */
function leastSquares(rows, values, weights) {
  const size = rows[0].length;
  const table = Array.from({ length: size }, (_, i) => {
    const line = new Float64Array(size + 1);
    rows.forEach((row, n) => {
      const scaled = row[i] * weights[n];
      for (let j = 0; j < size; j++) line[j] += scaled * row[j];
      line[size] += scaled * values[n];
    });
    line[i] += 1e-6;
    return line;
  });
  for (let k = 0; k < size; k++) {
    let pivot = k;
    for (let i = k + 1; i < size; i++) {
      if (Math.abs(table[i][k]) > Math.abs(table[pivot][k])) pivot = i;
    }
    [table[k], table[pivot]] = [table[pivot], table[k]];
    for (let i = k + 1; i < size; i++) {
      const times = table[i][k] / table[k][k];
      for (let j = k; j <= size; j++) table[i][j] -= times * table[k][j];
    }
  }
  const found = new Float64Array(size);
  for (let k = size - 1; k >= 0; k--) {
    let rest = table[k][size];
    for (let j = k + 1; j < size; j++) rest -= table[k][j] * found[j];
    found[k] = rest / table[k][k];
  }
  return found;
}

/** Coverage by ink, 0 to 1: half the strokes' own strength is their edge. */
export function ink(flat) {
  const soft = blurred(flat, 2);
  const level = f(inkLevel(soft));
  return clipped(mapped(soft, (value) => f(f(value / level) - f(0.3)) / f(0.4)));
}

/** How strong the ink is, of what is stronger than the paper's noise gets. */
function inkLevel({ data }) {
  const [low, middle] = quantiles(data, 0.05, 0.25); // paper, however much ink
  const floor = f(Math.max(middle, 0) + 6 * (middle - low) + 0.015); // five standard deviations
  const above = data.filter((value) => value > floor);
  if (above.length === 0) throw new NoInk();
  const bounded = above.map((value) => Math.min(value, 1)); // resizing overshoots
  return otsu(histogram(bounded, 64, [0, 1]));
}

/** The mean of the upper of a histogram's two classes, split where they differ most. */
export function otsu({ counts, edges }) {
  const values = counts.map((_, n) => f(f(edges[n] + edges[n + 1]) / 2));
  const all = counts.reduce((total, count) => total + count, 0);
  const weight = counts.reduce((total, count, n) => total + count * values[n], 0);
  let [below, lower, most] = [0, 0, -1];
  let upper = 0;
  for (let n = 0; n < counts.length - 1; n++) {
    below += counts[n];
    lower += counts[n] * values[n];
    const above = all - below;
    const high = (weight - lower) / Math.max(above, 1);
    const apart = below * above * (high - lower / Math.max(below, 1)) ** 2;
    if (apart <= most) continue;
    most = apart;
    upper = above ? high : weight / all;
  }
  return upper;
}

/** The steepness of a picture along an outline. */
export function steepnessAlong(outline, plane) {
  const { data } = steepness(plane);
  const along = outline.data.map((value, n) => value * data[n]);
  return f(sum(along) / f(Math.max(sum(outline.data), 1e-6)));
}

/** How steep the outline is, 0 to 1: ink is sharper than the edges of shadows and glare. */
function sharpness(flat, cut, level) {
  return Math.min(1, (2.5 * steepnessAlong(steepness(cut), flat)) / level);
}

/** Throw NoInk where what was found is only the paper's own mottle: soft, and hardly stronger. */
export function checkContrast(flat, cut) {
  const soft = blurred(flat, 2);
  const inked = soft.data.filter((_, n) => cut.data[n] > 0.5);
  const paper = soft.data.filter((_, n) => cut.data[n] === 0);
  if (!inked.length || !paper.length) return;
  const [middle, most] = quantiles(paper, 0.5, 0.99);
  const standsOut = (mean(inked) - middle) / (most - middle + 0.003);
  if (standsOut < 3.2 && sharpness(soft, cut, inkLevel(soft)) < 0.28) throw new NoInk();
}

// --- the digit ------------------------------------------------------------------------------

/** Keep the strokes that make up the digit. */
export function digit(inked) {
  const strokes = mapped(inked, (value) => (value > 0.5 ? 1 : 0));
  const reach = Math.max(1, roundHalfEven(0.012 * longer(inked))); // half a dying pen's widest gap
  const labels = components(highest(strokes, reach), (value) => value > 0);
  if (labels.count === 0) throw new NoInk();
  labels.data.forEach((_, n) => {
    if (!(inked.data[n] > 0)) labels.data[n] = 0;
  });
  const all = partsOf(labels, inked);
  const parts = all.filter((part) => !isBox(part, all, labels));
  const main = parts.reduce((best, part) => (part.merit > best.merit ? part : best));
  const kept = new Set([main]);
  for (let before = 0; before < kept.size; ) {
    before = kept.size;
    const near = parts.filter(
      (part) =>
        !kept.has(part) &&
        part.mass > 0.04 * main.mass &&
        part.rim < 0.12 &&
        [...kept].some((other) => gap(part.box, other.box) < 0.2 * main.size),
    );
    near.forEach((part) => kept.add(part));
  }
  const numbers = new Set([...kept].map((part) => part.number));
  return mapped(inked, (value, n) => (numbers.has(labels.data[n]) ? value : 0));
}

/** Label the connected parts (8 neighbours) 1, 2, ... */
export function components({ height, width, data }, is) {
  const labels = new Int32Array(height * width);
  const stack = [];
  let count = 0;
  for (let start = 0; start < labels.length; start++) {
    if (labels[start] || !is(data[start])) continue;
    labels[start] = ++count;
    stack.push(start);
    while (stack.length) {
      const at = stack.pop();
      const [row, column] = [Math.trunc(at / width), at % width];
      for (let y = Math.max(row - 1, 0); y <= Math.min(row + 1, height - 1); y++) {
        for (let x = Math.max(column - 1, 0); x <= Math.min(column + 1, width - 1); x++) {
          const next = y * width + x;
          if (labels[next] || !is(data[next])) continue;
          labels[next] = count;
          stack.push(next);
        }
      }
    }
  }
  return { height, width, channels: 1, data: labels, count };
}

/** The connected pieces of ink: {number, mass, box, size, rim, merit}. */
function partsOf(labels, inked) {
  const { height, width, data, count } = labels;
  const mass = new Float64Array(count + 1);
  const boxes = Array.from(mass, () => [height, 0, width, 0]);
  data.forEach((number, at) => {
    const [y, x] = [Math.trunc(at / width), at % width];
    const box = boxes[number];
    mass[number] += inked.data[at];
    box[0] = Math.min(box[0], y);
    box[1] = y + 1;
    box[2] = Math.min(box[2], x);
    box[3] = Math.max(box[3], x + 1);
  });
  const edge = rim(labels);
  const onRim = new Float64Array(count + 1);
  for (const number of edge) onRim[number]++;
  const least = 0.01 * mass.subarray(1).reduce((most, value) => Math.max(most, value));
  const parts = [];
  for (let number = 1; number <= count; number++) {
    if (mass[number] < least) continue;
    const box = boxes[number];
    const [top, bottom, left, right] = box;
    const off = Math.hypot((top + bottom) / height - 1, (left + right) / width - 1) / 2;
    const covers = onRim[number] / edge.length; // the share of the picture's rim
    const merit = Math.sqrt(mass[number]) * (1.2 - off) * (covers > 0.12 ? 0.05 : 1);
    const size = Math.max(bottom - top, right - left);
    parts.push({ number, mass: mass[number], box, size, rim: covers, merit });
  }
  return parts;
}

/** Pixels between two boxes, 0 where they overlap. */
function gap([top, bottom, left, right], [top2, bottom2, left2, right2]) {
  return Math.max(top - bottom2, top2 - bottom, left - right2, left2 - right, 0);
}

/** Whether this is a printed box around the digit: straight sides, and other ink inside. */
function isBox(part, parts, { width, data }) {
  const [top, bottom, left, right] = part.box;
  const within = ({ box }) =>
    top < box[0] && box[1] < bottom && left < box[2] && box[3] < right;
  const large = (other) => other.mass > 0.1 * part.mass && other.size > 0.2 * part.size;
  if (!parts.some((other) => large(other) && within(other))) return false;
  const deep = Math.max(1, roundHalfEven(0.1 * part.size));
  const sides = [new Set(), new Set(), new Set(), new Set()]; // the rows or columns it reaches in
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      if (data[y * width + x] !== part.number) continue;
      if (y < top + deep) sides[0].add(x);
      if (y >= bottom - deep) sides[1].add(x);
      if (x < left + deep) sides[2].add(y);
      if (x >= right - deep) sides[3].add(y);
    }
  }
  const lengths = [right - left, right - left, bottom - top, bottom - top];
  return sides.filter((side, n) => side.size / lengths[n] > 0.8).length >= 3;
}

// --- the view -------------------------------------------------------------------------------

export const BRIGHTNESS = { name: "brightness", weights: [0.299, 0.587, 0.114], offset: 0 };
const VIEWS = [
  BRIGHTNESS,
  { name: "red", weights: [1, 0, 0], offset: 0 },
  { name: "green", weights: [0, 1, 0], offset: 0 },
  { name: "blue", weights: [0, 0, 1], offset: 0 },
  { name: "redLessGreen", weights: [0.5, -0.5, 0], offset: 0.5 },
  { name: "redLessBlue", weights: [0.5, 0, -0.5], offset: 0.5 },
  { name: "greenLessBlue", weights: [0, 0.5, -0.5], offset: 0.5 },
];

/** The grey picture that a view has of one; where it is `turned`, dark and light change places. */
export function seenIn({ weights, offset, turned = false }, plane) {
  let grey = plane;
  if (plane.channels === 3) {
    const [red, green, blue] = weights.map(f);
    grey = picture(plane.height, plane.width);
    for (let n = 0, at = 0; n < grey.data.length; n++, at += 3) {
      const [r, g, b] = [plane.data[at], plane.data[at + 1], plane.data[at + 2]];
      grey.data[n] = f(f(f(r * red) + g * green) + b * blue) + offset;
    }
  }
  return turned ? mapped(grey, (value) => 1 - value) : grey;
}

/** The view in which something like a digit stands out most. */
export function bestView(plane) {
  const small = fitted(plane, SMALL);
  let [best, bestMerit] = [{ ...BRIGHTNESS, turned: false }, 0];
  for (const view of plane.channels === 3 ? VIEWS : [BRIGHTNESS]) {
    const skew = skewness(seenIn(view, small));
    for (const turned of [false, true]) {
      const prior = turned ? 1 + skew : 1 - skew;
      if (prior < 0.05) continue; // beyond doubt, and half of the time saved
      let merit = meritOf(seenIn({ ...view, turned }, small)) * (0.2 + prior);
      merit *= view.offset ? 0.6 : 1; // JPEG keeps colour coarsely
      if (merit > bestMerit * (bestMerit ? 1.15 : 1)) {
        [best, bestMerit] = [{ ...view, turned }, merit];
      }
    }
  }
  return best;
}

/** 1: the minority of the pixels is lighter. Ink is sharp, shadows are not. */
function skewness(seen) {
  const course = trend(seen).data;
  const rest = mapped(seen, (value, n) => value - course[n]);
  const steep = steepness(rest).data;
  let [total, size] = [0, 1e-12];
  rest.data.forEach((value, n) => {
    total += value ** 3 * steep[n];
    size += Math.abs(value) ** 3 * steep[n];
  });
  return total / size;
}

/** How far ink stands out from the paper's unevenness, if it looks like ink. */
function meritOf(plain) {
  try {
    const flat = light(plain);
    const inked = ink(flat);
    const cut = digit(inked);
    const level = inkLevel(blurred(flat, 2));
    const paper = flat.data.filter((value) => value < f(level / 2));
    if (!paper.length) return 0;
    const contrast = level / (deviation(paper) + 0.02);
    const covered = share(rim(inked), (value) => value > 0.5); // ink seldom reaches the rim
    return contrast * sharpness(flat, cut, level) * (1 - 0.5 * covered);
  } catch (error) {
    if (error instanceof NoInk) return 0;
    throw error;
  }
}
