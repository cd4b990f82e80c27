// What happens with 1,000 images: the time of an image by images a call, from measured throughput; and the same by network.
import { called, element, say, spelt, times } from "./dom.js";

const MOST = 1000; // images a call on the slider
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [640, 300, 90, 34, 14]; // of the drawing
const STEPS = 300; // of the slider, which is logarithmic
const SVG = "http://www.w3.org/2000/svg";

/** The time of one image in a call of `count`; null beyond what was measured.
 *
 * Between two measured sizes a call takes a fixed time and a time for each image. */
export function usAt(rates, count) {
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
  const axis = Math.max(...known.map((one) => usAt(one.rates, one.rates[0][0])));
  const slider = element("input", { type: "range", id: "images", min: 0, max: STEPS, value: 0, "aria-label": say("many.slider") });
  const [count, told] = [element("output", { class: "count", for: "images" }), element("p", { class: "outcome", "aria-live": "polite" })];
  const rows = known.map((one) => ({ one, ...lane(one) }));
  const { drawing, move } = chart(known, ends);
  const sizes = [...new Set(known.flatMap((one) => one.rates.map(([size]) => size)))].sort((a, b) => a - b);
  const jumps = sizes.map((size) => element("button", { type: "button", click: () => { slider.value = place(size); show(size); } }, String(size)));
  function show(images) {
    const now = rows.map(({ one }) => usAt(one.rates, images));
    const least = Math.min(...now.filter((us) => us !== null));
    rows.forEach(({ time, bar }, n) => {
      time.textContent = now[n] === null ? say("many.unmeasured") : say("many.times", { time: spelt(now[n]), times: times(now[n] / least) });
      bar.style.inlineSize = now[n] === null ? "0" : `${(100 * now[n]) / axis}%`;
    });
    count.textContent = say(images === 1 ? "many.one" : "many.count", { count: images });
    slider.setAttribute("aria-valuetext", count.textContent);
    root.dataset.images = images;
    move(images);
    const first = usAt(slowest.rates, 1);
    const last = usAt(slowest.rates, images);
    told.textContent = last === null ? say("many.ends", { ends })
      : images === 1 ? say("many.start", { name: called(slowest), all: spelt(MOST * first) })
        : say(sizes.includes(images) ? "many.measured" : "many.between", { name: called(slowest), count: images, all: spelt(MOST * last), one: spelt(MOST * first) });
  }
  const root = element("div", { id: "by-images" }, element("p", { class: "soft" }, say("many.hint", { ...data, sizes: sizes.join(", ") })),
    element("div", { class: "slider" }, count, slider, element("span", {}, say("many.jump")), ...jumps), told,
    element("div", { class: "two" }, element("ol", { class: "lanes shares" }, ...rows.map((one) => one.row)),
      element("figure", {}, drawing, element("figcaption", {}, say("many.chart", { ends })))));
  slider.addEventListener("input", () => show(Math.round(MOST ** (slider.value / STEPS))));
  show(1);
  return [root];
}

const place = (images) => Math.round((STEPS * Math.log(images)) / Math.log(MOST));

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

/** Both axes logarithmic; dots where it was measured, nothing beyond. */
function chart(known, ends) {
  const all = known.flatMap((one) => one.rates.map(([, rate]) => 1e6 / rate));
  const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const x = (images) => LEFT + ((WIDTH - LEFT - 10) * Math.log(images)) / Math.log(MOST);
  const y = (us) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.log10(us))) / (high - low);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": say("many.chart", { ends }) });
  for (let power = low; power <= high; power++) {
    drawing.append(svg("line", { x1: LEFT, x2: WIDTH - 10, y1: y(10 ** power), y2: y(10 ** power), class: "rule" }),
      svg("text", { x: LEFT - 6, y: y(10 ** power) + 6, "text-anchor": "end" }, spelt(10 ** power)));
  }
  for (const images of [1, 10, 100, MOST]) {
    drawing.append(svg("text", { x: x(images), y: HEIGHT - 8, "text-anchor": images === MOST ? "end" : "middle" }, images.toLocaleString("en")));
  }
  drawing.append(svg("rect", { x: x(ends), y: TOP, width: x(MOST) - x(ends), height: HEIGHT - TOP - BOTTOM, class: "unmeasured" }));
  const cursor = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cursor" });
  for (const one of known) {
    const most = one.rates.at(-1)[0];
    const points = [];
    for (let step = 0; step <= STEPS; step++) {
      const images = Math.min(most, MOST ** (step / STEPS));
      points.push(`${x(images)},${y(usAt(one.rates, images))}`);
      if (images === most) break;
    }
    drawing.append(svg("g", { class: `line-${one.family}` }, svg("title", {}, called(one)), svg("polyline", { points: points.join(" ") }),
      ...one.rates.map(([size, rate]) => svg("circle", { cx: x(size), cy: y(1e6 / rate), r: 4 }))));
  }
  drawing.append(cursor);
  return { drawing, move: (images) => { for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(images)); } };
}

/** One of the measured networks at a time: how many times as long as the fastest each API takes. */
function byNetwork({ machine, sizes: networks }) {
  const most = Math.max(...networks.flatMap(({ rows }) => rows.map((one) => one.ratio)));
  const slider = element("input", { type: "range", id: "sizes", min: 0, max: networks.length - 1, value: 0, "aria-label": say("many.sizes") });
  const [name, lanes] = [element("output", { class: "count", for: "sizes" }), element("ol", { class: "lanes shares" })];
  function show() {
    const { network, multiply_adds: adds, rows } = networks[slider.value];
    name.textContent = say("many.network", { network, millions: Number((adds / 1e6).toPrecision(3)).toLocaleString("en") });
    slider.setAttribute("aria-valuetext", name.textContent);
    lanes.replaceChildren(...rows.map((one) => {
      const { row, bar, time } = lane({ name: one.api });
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
