// One call, opened: what ran when, from the pupil's line down to the kernels, and a faster call on the same axis.
import { called, element, say, spelt } from "./dom.js";

/** The height of a bar and of its letters, in pixels: in a lesson the last row reads them. */
const sizes = () => (document.documentElement.classList.contains("teaching") ? [26, 20] : [20, 14]);
const LEAST_US = 0.5; // across the screen: what was recorded is no finer
const THINNEST = 3; // pixels of a span that is drawn, if it is no kernel
const ZOOM = 2; // a click or a key
const COLOURS = { preparing: ["#7d123f", "#fff"], "handing over": ["#ffc233", "#111"], mathematics: ["#1565c0", "#fff"] };
const KINDS = Object.keys(COLOURS);

/** `point` shows a span's code beside it, and gives its line. The timeline is made once it is asked for. */
export function open(root, data, point) {
  const [call, fast] = data.calls;
  const kernels = call.spans.filter((one) => one.kind === "mathematics");
  const mathematics = kernels.reduce((sum, one) => sum + one.us, 0);
  const guess = element("input", { type: "range", id: "percent", min: 0, max: 100, value: 50, "aria-label": say("open.guess"), input: () => tell() });
  const [shown, told] = [element("output", { class: "count", for: "percent" }), element("p", { class: "outcome", "aria-live": "polite", tabindex: "-1" })];
  const show = element("button", { type: "button", id: "open-call", class: "main", click: () => reveal() }, say("open.show"));
  const body = element("div");
  const tell = () => { shown.textContent = `${guess.value} %`; };
  function reveal() {
    const percent = Number(((100 * mathematics) / call.us).toPrecision(2));
    told.textContent = say("open.answer", { guess: guess.value, percent, kernels: spelt(mathematics), whole: spelt(call.us) });
    asked.hidden = true;
    timeline(body, data.calls, point, { kernels, fast });
    told.focus({ preventScroll: true }); // the button is gone
  }
  const asked = element("div", {}, element("p", {}, say("open.ask", { call: called(call) })), element("div", { class: "slider" }, shown, guess, show));
  root.append(asked, told, body,
    element("p", { class: "soft" }, ...data.calls.map((one) => `${say("open.recorded", { name: called(one), whole: spelt(one.us), slow: spelt(one.recorded_us), events: one.events })} ${
      one.shortened ? say("open.shortened", { percent: Math.round(100 * one.shortened) }) : ""} `), say("open.sum", data)));
  tell();
}

function timeline(root, calls, point, { kernels, fast }) {
  const tracks = calls.flatMap((call) => call.tracks.map((name, number) => ({
    title: say("open.track", { call: called(call), name }), call,
    spans: call.spans.filter((one) => one.track === number),
  })));
  const spans = tracks.flatMap((track) => track.spans.map((span) => ({ ...span, track })));
  let [seen, bottom] = [[], 0]; // what is drawn, and where the scale stands
  let [row, letter] = sizes();
  const whole = [0, Math.max(...calls.map((call) => call.us))];
  let [from, to] = whole;
  let [chosen, held] = [spans[0], null];

  const canvas = element("canvas", { class: "timeline", tabindex: "0", role: "application", "aria-label": say("open.label") });
  const paper = canvas.getContext("2d");
  const about = element("div", { class: "about", "aria-live": "polite" });
  const button = (key, click) => element("button", { type: "button", id: `open-${key}`, click }, say(`open.${key}`));
  const of = (call) => spans.filter((one) => one.track.call === call);
  const middle = () => (from + to) / 2;
  const bounds = (some) => [Math.min(...some.map((one) => one.at)), Math.max(...some.map((one) => one.at + one.us))];
  root.append(
    element("div", { class: "buttons" }, button("in", () => zoom(1 / ZOOM, middle())), button("out", () => zoom(ZOOM, middle())),
      button("whole", () => look(...whole)),
      button("kernels", () => { look(...bounds(kernels)); choose(of(calls[0]).find((one) => one.kind === "mathematics")); }),
      button("fast", () => { look(0, 1.2 * fast.us); choose(of(fast)[0]); }),
      ...KINDS.map((kind) => element("span", {}, element("i", { class: `dot ${kind.replace(" ", "-")}` }), say(`race.kinds.${kind}`)))),
    about, canvas, element("p", { class: "soft" }, say("open.keys")));

  const x = (us) => ((us - from) * canvas.clientWidth) / (to - from);
  const at = (event) => from + (event.offsetX * (to - from)) / canvas.clientWidth;

  function look(first, last) {
    const length = Math.min(whole[1], Math.max(LEAST_US, last - first));
    const start = Math.min(Math.max(0, first - (length - (last - first)) / 2), whole[1] - length);
    [from, to] = [start, start + length];
    draw();
  }
  function zoom(factor, around) {
    look(around - (around - from) * factor, around + (to - around) * factor);
  }
  /** What can be seen of the part that is looked at, each track as high as that. */
  function lay() {
    [row, letter] = sizes();
    seen = spans.filter((one) => x(one.at + one.us) >= 0 && x(one.at) <= canvas.clientWidth
      && (one === chosen || one.kind === "mathematics" || x(one.at + one.us) - x(one.at) > THINNEST));
    bottom = 0;
    for (const track of tracks) {
      const own = seen.filter((one) => one.track === track);
      track.shown = own.length > 0;
      if (!track.shown) continue;
      track.top = bottom + 1.3 * row; // below its name
      for (const one of own) one.y = track.top + row * one.depth;
      bottom = track.top + row * Math.max(...own.map((one) => one.depth + 1));
    }
    const sharp = globalThis.devicePixelRatio || 1;
    canvas.style.blockSize = `${bottom + row}px`;
    Object.assign(canvas, { width: canvas.clientWidth * sharp, height: (bottom + row) * sharp });
    paper.setTransform(sharp, 0, 0, sharp, 0, 0);
  }

  function draw() {
    if (!canvas.clientWidth) return;
    lay();
    const ink = getComputedStyle(root).color;
    paper.font = `${letter}px sans-serif`;
    paper.textBaseline = "middle";
    for (const track of tracks.filter((one) => one.shown)) write(track.title, 2, track.top - 0.65 * row, ink);
    for (const span of seen) {
      const [left, right] = [x(span.at), x(span.at + span.us)];
      const [paint, letters] = COLOURS[span.kind];
      paper.fillStyle = paint;
      paper.fillRect(left, span.y, Math.max(1, right - left - 0.5), row - 1);
      const [start, end] = [Math.max(0, left), Math.min(canvas.clientWidth, right)];
      if (end - start > 24) write(span.name, start + 3, span.y + row / 2, letters, end - start - 6);
      if (span !== chosen) continue;
      paper.strokeStyle = ink;
      paper.lineWidth = 3;
      paper.strokeRect(left, span.y, Math.max(3, right - left), row - 1);
    }
    scale(ink);
  }
  function write(text, left, y, colour, room = Infinity) {
    paper.fillStyle = colour;
    let shown = text;
    while (shown && paper.measureText(shown).width > room) shown = shown.slice(0, -1);
    paper.fillText(shown, left, y);
  }
  /** The time since the left edge, below all tracks; at the whole call this is its begin. */
  function scale(ink) {
    const step = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10((to - from) / 5))).find((n) => (to - from) / n < 6);
    for (let us = 0; us < to - from; us += step) {
      paper.fillStyle = ink;
      paper.fillRect(x(from + us), bottom, 1, row);
      write(us ? `+${spelt(us)}` : spelt(from), x(from + us) + 3, bottom + row / 2, ink);
    }
  }

  /** Its layer of software, file, line, time and share, and where it is ours the line itself. */
  function choose(span) {
    chosen = span;
    const { call } = span.track;
    const code = point({ ...span, name: call.name });
    const said = { layer: span.layer, kind: say(`race.kinds.${span.kind}`), time: spelt(span.us), percent: Number(((100 * span.us) / call.us).toPrecision(2)) };
    about.replaceChildren(element("p", {}, element("b", {}, span.name), ` ${say(children(span).length ? "open.calls" : "open.about", said)} `,
      span.file ? element("span", { class: "soft" }, say("open.file", span)) : ""), ...(code ? [element("pre", {}, code)] : []));
    draw();
  }
  const inside = (inner, outer) => inner.track === outer.track && inner.at >= outer.at && inner.at + inner.us <= outer.at + outer.us;
  const parents = new Map(spans.map((span) => [span, spans.filter((one) => one.depth < span.depth && inside(span, one)).sort((a, b) => a.depth - b.depth).at(-1)]));
  const parent = (span) => parents.get(span);
  const children = (span) => spans.filter((one) => parent(one) === span);
  function beside(step) {
    const all = spans.filter((one) => one.track === chosen.track && parent(one) === parent(chosen));
    return all[all.indexOf(chosen) + step];
  }
  const keys = {
    ArrowDown: () => children(chosen).sort((a, b) => b.us - a.us)[0], ArrowUp: () => parent(chosen),
    ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1 / ZOOM : ZOOM, chosen.at + chosen.us / 2);
    else if (event.key === "Enter") look(chosen.at, chosen.at + chosen.us);
    else if (event.key === "Home") look(...whole);
    else if (event.key in keys) {
      const next = keys[event.key]();
      if (next) choose(next);
      if (chosen.at + chosen.us < from || chosen.at > to) look(chosen.at - (to - from) / 2, chosen.at + (to - from) / 2);
    } else return;
    event.preventDefault();
  });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas) return; // the page scrolls
    event.preventDefault();
    zoom(1.002 ** event.deltaY, at(event));
  }, { passive: false });
  const under = (event) => seen.filter((one) => event.offsetY >= one.y && event.offsetY < one.y + row
    && x(one.at) - 2 <= event.offsetX && x(one.at + one.us) + 2 >= event.offsetX)
    .sort((a, b) => Math.abs(x(a.at + a.us / 2) - event.offsetX) - Math.abs(x(b.at + b.us / 2) - event.offsetX))[0];
  canvas.addEventListener("pointerdown", (event) => { held = { id: event.pointerId, us: at(event), moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (held?.id !== event.pointerId) return;
    const moved = held.us - at(event);
    if (Math.abs(x(from + moved)) < 4 && !held.moved) return; // a click is no move
    held.moved = true;
    look(from + moved, to + moved);
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => {
    if (held && !held.moved && name === "pointerup" && under(event)) choose(under(event));
    held = null;
  });
  canvas.addEventListener("dblclick", (event) => { const span = under(event); if (span) look(span.at, span.at + span.us); });
  let drawn = 0; // its width
  new ResizeObserver(() => { if (canvas.clientWidth !== drawn) { drawn = canvas.clientWidth; draw(); } }).observe(canvas);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["class", "data-theme"] });
  choose(chosen);
}
