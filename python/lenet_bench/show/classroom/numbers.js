// NumPy's means, quantiles and histograms; `f` rounds where NumPy's values are float32.

const f = Math.fround;

/** Python's round. */
export function roundHalfEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

export function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** The float32 mean. */
export function mean(values) {
  return f(sum(values) / values.length);
}

/** The standard deviation, in float32. */
export function deviation(values) {
  const middle = mean(values);
  return f(Math.sqrt(mean(values.map((value) => f(value - middle) ** 2))));
}

/** How large a part of the values `is` holds for. */
export function share(values, is) {
  let count = 0;
  for (const value of values) if (is(value)) count++;
  return count / values.length;
}

export function median(values) {
  const sorted = values.slice().sort();
  const half = sorted.length >> 1;
  if (sorted.length % 2) return sorted[half];
  const both = sorted[half - 1] + sorted[half];
  return sorted instanceof Float32Array ? f(f(both) / 2) : both / 2;
}

/** Quantiles of float32 values, linear between two of them. */
export function quantiles(values, ...wanted) {
  const sorted = values.slice().sort();
  return wanted.map((q) => {
    const at = (sorted.length - 1) * q;
    const below = Math.floor(at);
    if (below >= sorted.length - 1) return sorted[sorted.length - 1];
    const step = f(sorted[below + 1] - sorted[below]);
    const rest = at - below;
    return rest < 0.5 ? sorted[below] + step * rest : sorted[below + 1] - step * (1 - rest);
  });
}

/** How far the middle nine tenths of the values reach. */
export function spread(values) {
  const [low, high] = quantiles(values, 0.05, 0.95);
  return high - low;
}

/** Counts of float32 values in `bins` equal bins, and the bins' edges; without a range, theirs. */
export function histogram(values, bins, range = extremes(values)) {
  let [first, last] = range;
  if (first === last) [first, last] = [f(first - 0.5), f(last + 0.5)];
  const width = f(last - first);
  const edges = new Float32Array(bins + 1);
  for (let n = 0; n < bins; n++) edges[n] = f(n * f(width / bins)) + first;
  edges[bins] = last;
  const counts = new Array(bins).fill(0);
  for (const value of values) {
    if (value < first || value > last) continue;
    let n = Math.min(bins - 1, Math.trunc(f(f(f(value - first) / width) * bins)));
    if (value < edges[n]) n--;
    if (value >= edges[n + 1] && n !== bins - 1) n++;
    counts[n]++;
  }
  return { counts, edges };
}

function extremes(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}
