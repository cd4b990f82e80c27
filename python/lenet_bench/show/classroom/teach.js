// The lesson: one step a screen with its question, its time and what to find; and a worksheet to print.
import { keep } from "./address.js";
import { $, called, element, say, spelt } from "./dom.js";
import { filled, strings } from "./strings.js";

/** Each step shows one section of the page, so many minutes; a lesson of 45 minutes leaves the long ones out. */
const STEPS = [
  { key: "draw", section: "network", minutes: 5 }, { key: "follow", section: "network", minutes: 7 },
  { key: "learn", section: "learn", minutes: 5, long: true }, { key: "guess", section: "guess", minutes: 5 },
  { key: "race", section: "race", minutes: 7 }, { key: "open", section: "open", minutes: 8 },
  { key: "many", section: "many", minutes: 6 }, { key: "code", section: "code", minutes: 5, long: true },
  { key: "live", section: "race", minutes: 4, long: true, served: true }, { key: "exit", section: "worksheet", minutes: 4 },
];
const LONG = 60;
const SHORT = 45;
const FORWARD = ["PageDown", "ArrowRight"]; // of a clicker, too
const BACK = ["PageUp", "ArrowLeft"];

export function teach(data) {
  const page = document.documentElement;
  let [steps, lasts, now] = [[], LONG, 0];
  let [left, ticking] = [0, null]; // seconds of this step, and its clock
  const button = (id, click) => element("button", { type: "button", id, click }, say(`teach.${id}`));
  const [step, question, answer] = [element("p", { id: "step" }), element("h1", { id: "question", tabindex: "-1" }), element("div", { id: "found", tabindex: "-1", hidden: true })];
  const timer = element("button", { type: "button", id: "timer", click: () => (ticking ? stop() : run()) });
  const reveal = button("reveal", () => { answer.hidden = false; answer.focus({ preventScroll: true }); reveal.disabled = true; });
  const [back, next] = [button("back", () => go(now - 1)), button("forward", () => go(now + 1))];
  $("teaching").append(
    element("div", { class: "buttons" }, step, timer, reveal, back, next, ...address(data), button("leave", leave)),
    question, answer);
  $("teach").addEventListener("click", () => begin(LONG));
  $("teach-short").addEventListener("click", () => begin(SHORT));
  addEventListener("keydown", (event) => {
    const to = now + FORWARD.includes(event.key) - BACK.includes(event.key);
    const taken = event.key.startsWith("Arrow") ? "input, select, canvas, .listing, dialog" : "#layers canvas, .listing, dialog";
    if (!page.classList.contains("teaching") || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(taken) || !steps[to] || to === now) return;
    event.preventDefault();
    go(to);
  });
  addEventListener("hashchange", resume);

  /** Where the address names a step, the lesson goes on there. */
  function resume() {
    const given = new URLSearchParams(location.hash.slice(1));
    const at = Number(given.get("step"));
    if (at >= 1) begin(given.get("minutes") === String(SHORT) ? SHORT : LONG, Math.floor(at) - 1);
  }
  function begin(minutes, at = 0) {
    lasts = minutes;
    steps = STEPS.filter((one) => (minutes === LONG || !one.long) && (data.served || !one.served));
    page.classList.add("teaching");
    go(Math.min(at, steps.length - 1));
  }
  function go(to) {
    now = to;
    const { key, section, minutes } = steps[now];
    page.dataset.step = key;
    keep({ step: now + 1, minutes: lasts });
    for (const one of $("main").querySelectorAll(":scope > section")) one.classList.toggle("current", one.id === section);
    const before = steps.slice(0, now).reduce((sum, one) => sum + one.minutes, 0);
    step.textContent = say("teach.step", { number: now + 1, count: steps.length, title: say(`teach.steps.${key}.title`), before, lasts });
    question.textContent = say(`teach.steps.${key}.question`);
    answer.replaceChildren(...answers(key, data).map((text) => element("p", {}, text)));
    [answer.hidden, reveal.disabled] = [true, false];
    [back.disabled, next.disabled] = [now === 0, now === steps.length - 1];
    stop();
    left = 60 * minutes;
    tell();
    scrollTo(0, 0);
    question.focus({ preventScroll: true });
  }
  function tell() {
    const clock = `${left < 0 ? "−" : ""}${Math.floor(Math.abs(left) / 60)}:${String(Math.abs(left) % 60).padStart(2, "0")}`;
    timer.textContent = say(ticking ? "teach.pause" : "teach.run", { clock });
    timer.classList.toggle("late", left <= 0);
  }
  function run() {
    ticking = setInterval(() => { left -= 1; tell(); }, 1000);
    tell();
  }
  function stop() {
    clearInterval(ticking);
    ticking = null;
    tell();
  }
  function leave() {
    stop();
    page.classList.remove("teaching");
    delete page.dataset.step;
    keep({ step: null, minutes: null });
    $("teach").focus();
  }
  worksheet($("sheet"), data);
  resume();
}

/** What there is to find, in the figures of the two calls of Keras that it names, where the result has them. */
function answers(key, { backends }) {
  const [slow, quick] = ["keras", "keras:predict_on_batch"].map((name) => backends.find((one) => one.name === name));
  const both = slow && quick;
  const known = strings.teach.steps[key].answer.filter((text) => both || !text.includes("{"));
  return known.map((text) => (both ? filled(text, {
    slow: called(slow), slowAll: spelt(1000 * slow.us), slowShare: Number((slow.us / 1e4).toPrecision(2)),
    quick: called(quick), quickAll: spelt(1000 * quick.us),
  }) : text));
}

/** A button that shows the page's address and its QR code, where the page knows its address. */
function address({ address: given }) {
  if (!given) return [];
  const image = element("img", { src: given.image, alt: say("teach.code", given) });
  const dialog = element("dialog", { id: "address", "aria-label": say("teach.share") }, image, element("p", {}, element("a", { href: given.url }, given.url)),
    element("form", { method: "dialog" }, element("button", {}, say("teach.shut"))));
  $("teaching").after(dialog);
  return [element("button", { type: "button", id: "share", click: () => dialog.showModal() }, say("teach.share"))];
}

/** The questions with room to write, a table for the guesses, and the exit question. */
function worksheet(root, data) {
  const story = data.backends.filter((one) => data.story.includes(one.name));
  const shuffled = [...story].sort((a, b) => called(a).localeCompare(called(b)));
  const print = element("button", { type: "button", id: "print", class: "main", click: () => {
    document.documentElement.classList.add("printing");
    globalThis.print();
  } }, say("teach.print"));
  addEventListener("afterprint", () => document.documentElement.classList.remove("printing"));
  const heads = ["api", "place", "lines", "time"].map((key) => element("th", { scope: "col" }, say(`teach.${key}`)));
  const asked = STEPS.filter((one) => one.key !== "exit" && !one.served);
  root.append(print, element("p", { class: "name" }, element("b", {}, say("title")), element("span", {}, say("teach.name"))),
    element("ol", {}, ...asked.map(({ key, long }) => element("li", {},
      element("b", {}, say(`teach.steps.${key}.title`), long ? ` (${say("teach.long")})` : ""), element("br"), say(`teach.steps.${key}.question`),
      key === "guess" ? element("table", {}, element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...shuffled.map((one) => element("tr", {}, element("th", { scope: "row" }, called(one)), ...Array.from({ length: 3 }, () => element("td"))))))
        : element("div", { class: "write" })))),
    element("div", { class: "exit" }, element("h3", {}, say("teach.steps.exit.title")), element("p", {}, say("teach.steps.exit.question")), element("div", { class: "write long" })));
}
