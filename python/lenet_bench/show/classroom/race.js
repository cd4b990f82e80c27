// One call of each API in slow motion, split by what its time went to; those that take far longer run after the others.
import { called, element, round, say, spelt, times } from "./dom.js";

const HEAT_MS = 5000; // in which a bar crosses the axis
const ROOM = 0.55; // of the axis: a bar shorter than this has words beside it too
const FAR = 5; // times as long as the call before it: such a call runs in the second heat
const MOST = 12; // who may race
const KINDS = ["preparing", "handing over", "mathematics", "unexplained", "unknown"];
const UNKNOWN = [{ kind: "unknown", share: 1, of: [] }];
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

export function race(root, data) {
  const racing = data.backends.filter((one) => data.racing.includes(one.name));
  const others = data.backends.filter((one) => !data.racing.includes(one.name));
  const offered = [...racing, ...others].slice(0, Math.max(MOST, racing.length));
  const left = new Set(racing.length < 2 ? offered.slice(8) : offered.filter((one) => others.includes(one)));
  const joined = new Map(); // by name, those that were timed here
  let browser = null;
  let expected = []; // the names in the order that was guessed
  let latest = 0; // the number of the race that may be shown
  let [cars, axis, second] = [[], 1, false];

  const clock = element("span", { class: "clock", "aria-hidden": "true" });
  const start = element("button", { type: "button", id: "start", class: "main", click: () => begin() }, say("race.start"));
  const skip = element("button", { type: "button", id: "finish", click: () => finish() }, say("race.finish"));
  const [hint, lanes, outcome] = [element("p", { class: "soft" }), element("ol", { class: "lanes" }), element("div", { class: "outcome", "aria-live": "polite" })];
  const whole = element("div"); // the call that leaves the axis, on one of its own
  const boxes = element("div", { class: "picker" });
  const key = element("p", { class: "key" });
  const place = element("select", { hidden: true, "aria-label": say("race.place"), change: () => { pick(); lay(); } },
    element("option", { value: "" }, data.machine), element("option", { value: "here" }, say("race.here")));
  root.append(element("div", { class: "buttons" }, start, skip, place, clock), outcome, lanes, whole, hint, key,
    element("details", {}, element("summary", {}, say("race.choose")), boxes));

  /** Of one machine: the published one, or this computer; the browser races on both. */
  const known = () => [...(place.value ? joined.values() : offered), ...(browser ? [browser] : [])];
  function pick() {
    boxes.replaceChildren(...known().map((one) => {
      const box = element("input", { type: "checkbox", value: one.name, change: () => {
        if (box.checked) left.delete(one); else left.add(one);
        lay();
      } });
      box.checked = !left.has(one);
      return element("label", {}, box, ` ${called(one)}`);
    }));
  }

  /** New calls at the start, the fastest on top; the axis holds any measured call of the first heat. */
  function lay() {
    latest += 1;
    second = false;
    const chosen = known().filter((one) => !left.has(one)).sort((a, b) => a.us - b.us);
    const timed = chosen.filter((one) => one !== browser || chosen.length === 1);
    const far = timed.find((one, n) => n > 1 && one.us > FAR * timed[n - 1].us);
    const first = chosen.filter((one) => !far || one.us < far.us);
    axis = 1.05 * Math.max(...timed.filter((one) => first.includes(one)).map((one) => one.quantiles.at(-1)), 1e-3);
    const places = expected.map((name) => chosen.find((one) => one.name === name)).filter(Boolean);
    const ranked = [...places].sort((a, b) => a.us - b.us);
    cars = chosen.map((one) => lane(one, !first.includes(one), ranked[places.indexOf(one)]));
    lanes.replaceChildren(scale(), ...cars.map((car) => car.row));
    const shown = new Set(cars.flatMap(({ parts }) => parts.map((part) => part.kind)));
    key.replaceChildren(...KINDS.filter((kind) => shown.has(kind)).map((kind) => meaning(kind, kind)),
      ...(ranked.length ? [meaning("ghost", "ghost")] : []));
    hint.textContent = say(place.value ? "race.hintHere" : "race.hint", { ...data, slower: times((1000 * HEAT_MS) / axis) });
    start.textContent = say("race.start");
    clear();
    show(0);
  }

  function clear() {
    outcome.replaceChildren();
    whole.replaceChildren();
  }

  function lane(one, late, ghostOf) {
    const us = one.quantiles[Math.floor(Math.random() * one.quantiles.length)];
    const parts = (one.parts ?? UNKNOWN).filter((part) => part.share > 0);
    const bar = stack(parts, us);
    bar.style.inlineSize = `${(100 * us) / axis}%`;
    const time = element("span", { class: "time" });
    const ghost = ghostOf && element("div", { class: "ghost", title: say("race.ghost") });
    const most = element("span", { class: "most" }, mostOf(parts));
    if (us < ROOM * axis) most.style.insetInlineStart = `${(100 * us) / axis}%`;
    const row = element("li", { "data-name": one.name }, element("b", {}, ...broken(called(one))),
      element("div", { class: "lane" }, bar, ...(us < ROOM * axis ? [most] : []), ...(ghost ? [ghost] : [])), time);
    return { one, us, parts, late, bar, most, time, row, ghost, ghostUs: ghostOf?.us };
  }

  function scale() {
    const step = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(axis / 4))).find((n) => axis / n < 5);
    const marks = Array.from({ length: Math.floor((0.78 * axis) / step) + 1 }, (_, n) => {
      const mark = element("span", {}, n ? round(n * step) : "0");
      mark.style.insetInlineStart = `${(100 * n * step) / axis}%`;
      return mark;
    });
    return element("li", { class: "axis", "aria-hidden": "true" }, element("b"), element("div", { class: "lane" }, ...marks), element("span"));
  }

  /** How far each has come after that time of its heat; true while one of the heat still runs. */
  function show(us) {
    if (!cars.length) return false; // nobody races
    const running = cars.filter((car) => car.late === second);
    for (const { us: whole, bar, most, time, late, ghost, ghostUs } of cars) {
      const now = late === second ? Math.min(us, whole) : late ? 0 : whole;
      bar.style.clipPath = `inset(0 ${100 * (1 - now / whole)}% 0 0)`;
      time.textContent = now >= whole || now >= axis ? spelt(whole) : late && !second ? say("race.later") : "";
      most.hidden = now < whole;
      if (!ghost) continue;
      ghost.hidden = us === 0 || (late && !second);
      ghost.style.inlineSize = `${(100 * Math.min(late === second ? us : Infinity, ghostUs)) / axis}%`;
    }
    const end = Math.min(axis, Math.max(...running.map((car) => car.us)));
    clock.textContent = spelt(Math.min(us, end) || 0);
    root.dataset.state = us >= end ? (second || !cars.some((car) => car.late) ? "over" : "between") : us > 0 ? "running" : "ready";
    if (us >= end) told();
    return us < end;
  }

  /** After a heat: who won, and how far away the last one is. */
  function told() {
    const late = cars.filter((car) => car.late);
    const early = cars.filter((car) => !car.late).sort((a, b) => a.us - b.us);
    const [first, last] = [early[0], early.at(-1)];
    if (second) {
      clear();
      late.forEach((car) => away(car, cars[0].one));
      start.textContent = say("race.again");
      return;
    }
    outcome.replaceChildren(element("p", {}, say("race.first", {
      first: called(first.one), least: spelt(first.us), last: called(last.one), most: spelt(last.us),
    })));
    start.textContent = late.length ? say("race.next", { names: late.map((car) => called(car.one)).join(", ") }) : say("race.again");
  }

  /** By the medians, which the rest of the page compares too; the bar is of the call that was drawn. */
  function away({ one, us, parts }, fastest) {
    const ratio = times(one.us / fastest.us);
    const screens = Number((us / axis).toPrecision(3));
    const seconds = (us / axis) * (HEAT_MS / 1000);
    const wait = seconds < 90 ? say("race.seconds", { count: Math.round(seconds) }) : say("race.minutes", { count: Math.round(seconds / 60) });
    const said = { name: called(one), time: spelt(one.us), times: ratio, screens, first: called(fastest), wait };
    outcome.append(element("p", { class: "factor" }, say("race.factor", { times: ratio })), element("p", {}, say("race.left", said)));
    whole.append(element("p", {}, say("race.whole", said)), element("div", { class: "lane" }, stack(parts, us)));
  }

  function begin() {
    if (root.dataset.state === "between") {
      second = true;
      latest += 1;
    } else lay();
    clear();
    if (CALM.matches) return show(Infinity);
    const [mine, from] = [latest, performance.now()];
    const frame = (now) => {
      if (latest === mine && show((Math.max(0, now - from) * axis) / HEAT_MS)) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
  function finish() {
    latest += 1;
    show(Infinity);
    if (!cars.some((car) => car.late)) return;
    second = true;
    show(Infinity);
  }

  /** A newer time of one that is timed here; a race that has begun is not disturbed. */
  function took(one, us) {
    const isNew = one.us === undefined;
    Object.assign(one, { us, quantiles: [us] });
    if (isNew) pick();
    if (root.dataset.state === "ready") lay();
  }
  function answered({ name, us }) {
    if (!us) return;
    if (!joined.has(name)) joined.set(name, { name, human: data.called[name] });
    place.hidden = false;
    took(joined.get(name), us);
  }
  pick();
  lay();
  return {
    answered,
    inBrowser: (us) => took((browser ??= { name: say("race.browser") }), us),
    expect: (names) => { expected = names; lay(); },
  };
}

/** A call's parts side by side, each with its word and its share where those fit. */
function stack(parts, us) {
  return element("div", { class: "bar" }, ...parts.map(({ kind, share, of }) => {
    const said = of.filter(([, part]) => part > 0).map(([name, part]) => `${name} ${spelt(part * us)}`).join(", ");
    const part = element("i", { class: kind.replace(" ", "-"), title: [say(`race.kinds.${kind}`), said].filter(Boolean).join(": ") },
      element("span", {}, say(`race.kinds.${kind}`)), ...(kind === "unknown" ? [] : [element("span", {}, percent(share))]));
    part.style.flexGrow = share;
    return part;
  }));
}

/** In words, for a bar that is too short for them: where most of the call goes. */
function mostOf(parts) {
  const most = parts.reduce((best, part) => (part.share > best.share ? part : best));
  const kind = say(`race.kinds.${most.kind}`);
  return most.kind === "unknown" ? kind : say("race.most", { percent: percent(most.share), kind });
}

/** A share in percent; one that is nearly nothing or nearly all is no 0 or 100. */
function percent(share) {
  if (share < 0.01) return say("race.under");
  return share > 0.99 && share < 1 ? say("race.over") : `${Math.round(100 * share)} %`;
}

const meaning = (kind, shade) => element("span", {}, element("i", { class: `dot ${shade.replace(" ", "-")}` }),
  element("b", {}, say(`race.kinds.${kind}`) ?? say("race.ghost")), `: ${say(`race.key.${kind}`)}`);

/** A name that may be broken after its colon and its underlines. */
const broken = (name) => name.split(/(?<=[:_-])/).flatMap((part) => [element("wbr"), part]);
