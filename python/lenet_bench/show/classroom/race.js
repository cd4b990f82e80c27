// One call of each API in slow motion: a call that was measured, split by what its time went to.
import { element, say, spelt } from "./dom.js";

const SPEEDS = [100, 1000, 10_000]; // times slower than it was
const SHADES = 8; // of the parts

export function race(root, data) {
  const racing = new Set(data.racing);
  let chosen = data.backends.filter((one) => racing.has(one.name));
  if (chosen.length < 2) chosen = data.backends.slice(0, 8);
  let latest = 0; // the number of the race that may be shown

  const clock = element("output", { class: "clock" });
  const speed = element("select", { "aria-label": say("race.speed") },
    ...SPEEDS.map((times) => element("option", { value: times }, say(`race.slower.${times}`))));
  speed.value = SPEEDS[1];
  const start = element("button", { type: "button", id: "start", class: "main", click: () => begin() }, say("race.start"));
  const skip = element("button", { type: "button", id: "finish", click: () => finish() }, say("race.finish"));
  const lanes = element("ol", { class: "lanes" });
  const picker = element("details", {}, element("summary", {}, say("race.choose")), element("div", { class: "picker" },
    ...data.backends.map((one) => {
      const box = element("input", { type: "checkbox", value: one.name, change: () => {
        chosen = data.backends.filter((other) =>
          picker.querySelector(`input[value="${CSS.escape(other.name)}"]`)?.checked);
        lay();
      } });
      box.checked = chosen.includes(one);
      return element("label", {}, box, ` ${one.name}`);
    })));
  const key = element("p", { class: "key" });
  root.append(element("p", { class: "soft" }, say("race.hint", data)),
    element("div", { class: "buttons" }, start, skip, speed, clock), lanes, key, picker);

  let cars = [];
  function lay() {
    latest += 1;
    const names = [...new Set(chosen.flatMap((one) => (one.parts ?? []).map(([part]) => part)))];
    cars = chosen.map((one) => {
      const drawn = one.quantiles[Math.floor(Math.random() * one.quantiles.length)];
      const bar = element("div", { class: `bar f${one.family}` });
      for (const [part, share] of (one.parts ?? []).filter(([, share]) => share > 0)) {
        bar.append(element("i", {
          class: `p${names.indexOf(part) % SHADES}`, title: `${part}: ${spelt(share * one.us)}`,
        }));
        bar.lastChild.style.flexGrow = share;
      }
      const time = element("span", { class: "time" });
      return { one, us: drawn, bar, time };
    });
    lanes.replaceChildren(...cars.map(({ one, bar, time }) =>
      element("li", {}, element("b", {}, ...broken(one.name)), element("div", { class: "lane" }, bar), time)));
    key.replaceChildren(...names.map((part, n) =>
      element("span", {}, element("i", { class: `dot p${n % SHADES}` }), say(`race.parts.${part}`) ?? part)));
    show(0);
  }
  function show(us) {
    const longest = Math.max(...cars.map((car) => car.us));
    const wide = Math.min(longest, Math.max(us, Math.min(...cars.map((car) => car.us)))) * 1.1;
    for (const { us: whole, bar, time } of cars) {
      bar.style.inlineSize = `${(100 * Math.min(us, whole)) / wide}%`;
      bar.classList.toggle("done", us >= whole);
      time.textContent = us >= whole ? spelt(whole) : "";
    }
    clock.textContent = spelt(Math.min(us, longest) || 0);
    root.dataset.state = us >= longest ? "over" : us > 0 ? "running" : "ready";
    return us < longest;
  }
  function begin() {
    lay();
    const [mine, from, slower] = [latest, performance.now(), Number(speed.value)];
    const frame = (now) => {
      if (latest === mine && show(((now - from) * 1000) / slower)) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
  function finish() {
    latest += 1;
    show(Infinity);
  }
  lay();
}

/** A name that may be broken after its colon and its underlines. */
const broken = (name) => name.split(/(?<=[:_-])/).flatMap((part) => [element("wbr"), part]);
