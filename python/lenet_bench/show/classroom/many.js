// What happens with many images: the time of an image by images a call, from measured throughput; and the same by network.
import { called, element, round, say, spelt, times } from "./dom.js";

const MANY = 1000; // images of which the sentences speak
const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [910, 300, 90, 340, 34, 14]; // of the drawing
const LABEL = 20; // between two names beside it
const STEPS = 300; // of the slider, which is logarithmic
const SVG = "http://www.w3.org/2000/svg";

/** The time of one image in a call of `count`; null beyond what was measured.
 *
 * Between two measured sizes a call takes a fixed time and a time for each image. */
function usAt(rates, count) {
  const calls = rates.map(([size, rate]) => [size, (1e6 * size) / rate]);
  const next = calls.findIndex(([size]) => size >= count);
  if (next < 0) return null;
  const [size, us] = calls[next];
  if (size === count || next === 0) return size === count ? us / count : null;
  const [before, beforeUs] = calls[next - 1];
  return (beforeUs + ((us - beforeUs) * (count - before)) / (size - before)) / count;
}

export function many(root, data) {
  const known = data.backends.filter((one) => data.racing.includes(one.name) && one.rates.length > 1);
  if (known.length > 1) root.append(...byImages(data, known));
  else root.append(element("p", {}, say("many.none")));
  if (data.networks) root.append(...byNetwork(data.networks));
}

function byImages(data, known) {
  const ends = Math.max(...known.flatMap((one) => one.rates.map(([size]) => size)));
  const slowest = known.at(-1);
  const place = (images) => Math.round((STEPS * Math.log(images)) / Math.log(ends));
  const slider = element("input", { type: "range", id: "images", min: 0, max: STEPS, value: 0, "aria-label": say("many.slider", { ends }) });
  const [count, told] = [element("output", { class: "count", for: "images" }), element("p", { class: "outcome", "aria-live": "polite" })];
  const rows = known.map((one) => {
    const time = element("td", { class: "time" });
    return { one, time, row: element("tr", {}, element("th", { scope: "row" }, called(one)), time) };
  });
  const { drawing, move } = chart(known, ends);
  const sizes = [...new Set(known.flatMap((one) => one.rates.map(([size]) => size)))].sort((a, b) => a - b);
  const jumps = sizes.map((size) => element("button", { type: "button", click: () => { slider.value = place(size); show(size); } }, String(size)));
  function show(images) {
    const now = rows.map(({ one }) => usAt(one.rates, images));
    const least = Math.min(...now.filter((us) => us !== null));
    rows.forEach(({ time }, n) => {
      time.textContent = now[n] === null ? say("many.unmeasured") : say("many.times", { time: spelt(now[n]), times: times(now[n] / least) });
    });
    count.textContent = say(images === 1 ? "many.one" : "many.count", { count: images });
    slider.setAttribute("aria-valuetext", count.textContent);
    root.dataset.images = images;
    move(images);
    const first = usAt(slowest.rates, 1);
    const last = usAt(slowest.rates, images);
    const said = { name: called(slowest), count: images, all: spelt(MANY * last), one: spelt(MANY * first) };
    told.textContent = last === null ? "" : say(images === 1 ? "many.start" : sizes.includes(images) ? "many.measured" : "many.between", said);
  }
  const root = element("div", { id: "by-images" }, element("p", { class: "soft" }, say("many.hint", { ...data, sizes: sizes.join(", ") })),
    element("div", { class: "slider" }, count, slider, element("span", {}, say("many.jump")), ...jumps), told,
    element("div", { class: "beside" }, element("table", {}, element("tbody", {}, ...rows.map((one) => one.row))),
      element("figure", {}, drawing, element("figcaption", {}, say("many.chart")))));
  slider.addEventListener("input", () => show(Math.round(ends ** (slider.value / STEPS))));
  show(1);
  return [root];
}

function lane(one) {
  const [bar, time] = [element("i", { class: "share" }), element("span", { class: "time" })];
  return { bar, time, row: element("li", { "data-name": one.name }, element("b", {}, called(one)), element("div", { class: "lane" }, bar), time) };
}

export function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Both axes logarithmic; dots where it was measured, and beside each line its name. */
function chart(known, ends) {
  const all = known.flatMap((one) => one.rates.map(([, rate]) => 1e6 / rate));
  const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const x = (images) => LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(images)) / Math.log(ends);
  const y = (us) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.log10(us))) / (high - low);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": say("many.chart") });
  for (let power = low; power <= high; power++) {
    drawing.append(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(10 ** power), y2: y(10 ** power), class: "rule" }),
      svg("text", { x: LEFT - 6, y: y(10 ** power) + 6, "text-anchor": "end" }, round(10 ** power)));
  }
  for (const images of new Set(known.flatMap((one) => one.rates.map(([size]) => size)))) {
    drawing.append(svg("text", { x: x(images), y: HEIGHT - 8, "text-anchor": "middle" }, images.toLocaleString("en")));
  }
  const cursor = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cursor" });
  for (const one of known) {
    const most = one.rates.at(-1)[0];
    const points = [];
    for (let step = 0; step <= STEPS; step++) {
      const images = Math.min(most, ends ** (step / STEPS));
      points.push(`${x(images)},${y(usAt(one.rates, images))}`);
      if (images === most) break;
    }
    drawing.append(svg("g", { class: `line-${one.family}` }, svg("title", {}, called(one)), svg("polyline", { points: points.join(" ") }),
      ...one.rates.map(([size, rate]) => svg("circle", { cx: x(size), cy: y(1e6 / rate), r: 4 }))));
  }
  drawing.append(...labels(known.map((one) => {
    const [size, rate] = one.rates.at(-1);
    return { one, from: x(size), to: WIDTH - RIGHT, at: y(1e6 / rate) };
  })));
  drawing.append(cursor);
  return { drawing, move: (images) => { for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(images)); } };
}

/** The name of each line beside its last point, as far below the one before as its letters need. */
function labels(ends) {
  let lowest = TOP - LABEL;
  const sorted = ends.sort((a, b) => a.at - b.at);
  const room = HEIGHT - BOTTOM - LABEL * (sorted.length - 1);
  return sorted.flatMap(({ one, from, to, at }, n) => {
    lowest = Math.max(lowest + LABEL, Math.min(at, room + LABEL * n));
    return [svg("polyline", { points: `${from},${at} ${to + 8},${at} ${to + 24},${lowest}`, class: "rule" }),
      svg("text", { x: to + 28, y: lowest + 6, class: `line-${one.family} label` }, called(one))];
  });
}

/** One of the measured networks at a time: how many times as long as the fastest each API takes. */
function byNetwork({ machine, sizes: networks }) {
  const most = Math.max(...networks.flatMap(({ rows }) => rows.map((one) => one.ratio)));
  const slider = element("input", { type: "range", id: "sizes", min: 0, max: networks.length - 1, value: 0, "aria-label": say("many.sizes") });
  const [name, lanes] = [element("output", { class: "count", for: "sizes" }), element("ol", { class: "lanes shares" })];
  function show() {
    const { network, multiply_adds: adds, rows } = networks[slider.value];
    const about = say(`many.about.${network}`);
    name.textContent = say("many.network", { network, millions: Number((adds / 1e6).toPrecision(3)).toLocaleString("en") }) + (about ? ` (${about})` : "");
    slider.setAttribute("aria-valuetext", name.textContent);
    lanes.replaceChildren(...rows.map((one) => {
      const { row, bar, time } = lane({ name: one.api, human: one.call });
      bar.style.inlineSize = `${(100 * one.ratio) / most}%`;
      time.textContent = say("many.times", { time: spelt(one.us), times: times(one.ratio) });
      if (one.low) time.title = say("many.interval", { low: times(one.low), high: times(one.high) });
      return row;
    }));
    root.dataset.network = network;
  }
  const root = element("div", { id: "by-network" }, element("h3", {}, say("many.sizesTitle")), element("p", { class: "soft" }, say("many.sizesHint", { machine })),
    element("div", { class: "slider" }, name, slider), lanes);
  slider.addEventListener("input", show);
  show();
  return [root];
}
