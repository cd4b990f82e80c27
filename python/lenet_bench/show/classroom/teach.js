// The lesson: one step a screen with its question, its time and what to find; and a worksheet to print.
import { $, called, element, say } from "./dom.js";
import { strings } from "./strings.js";

/** Each step shows one section of the page, so many minutes. */
export const STEPS = [
  ["draw", "network", 8], ["follow", "network", 9], ["learn", "learn", 7], ["guess", "guess", 7],
  ["race", "race", 9], ["many", "many", 8], ["code", "code", 7], ["exit", "worksheet", 5],
];

export function teach(data) {
  const page = document.documentElement;
  let now = 0;
  let [left, ticking] = [0, null]; // seconds of this step, and its clock
  const button = (id, click) => element("button", { type: "button", id, click }, say(`teach.${id}`));
  const [step, question, answer] = [element("p", { id: "step" }), element("h2", { id: "question", tabindex: "-1" }), element("div", { id: "found", hidden: true })];
  const timer = element("button", { type: "button", id: "timer", click: () => (ticking ? stop() : run()) });
  const reveal = button("reveal", () => { answer.hidden = false; reveal.disabled = true; });
  const [back, next] = [button("back", () => go(now - 1)), button("forward", () => go(now + 1))];
  $("teaching").append(
    element("div", { class: "buttons" }, step, timer, reveal, back, next, button("leave", leave)),
    question, answer);
  $("teach").addEventListener("click", () => { page.classList.add("teaching"); go(0); });

  function go(to) {
    now = to;
    const [key, section, minutes] = STEPS[now];
    page.dataset.step = key;
    for (const one of $("main").querySelectorAll(":scope > section")) one.classList.toggle("current", one.id === section);
    step.textContent = say("teach.step", { number: now + 1, count: STEPS.length, title: say(`teach.steps.${key}.title`) });
    question.textContent = say(`teach.steps.${key}.question`);
    answer.replaceChildren(...strings.teach.steps[key].answer.map((text) => element("p", {}, text)));
    [answer.hidden, reveal.disabled] = [true, false];
    [back.disabled, next.disabled] = [now === 0, now === STEPS.length - 1];
    stop();
    left = 60 * minutes;
    tell();
    scrollTo(0, 0);
    question.focus({ preventScroll: true });
  }
  function tell() {
    const clock = `${left < 0 ? "−" : ""}${Math.floor(Math.abs(left) / 60)}:${String(Math.abs(left) % 60).padStart(2, "0")}`;
    timer.textContent = say(ticking ? "teach.pause" : "teach.run", { clock });
    timer.classList.toggle("over", left <= 0);
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
    $("teach").focus();
  }
  worksheet($("sheet"), data);
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
  root.append(print, element("p", { class: "name" }, say("teach.name")),
    element("ol", {}, ...STEPS.filter(([key]) => key !== "exit").map(([key]) => element("li", {}, say(`teach.steps.${key}.question`),
      key === "guess" ? element("table", {}, element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...shuffled.map((one) => element("tr", {}, element("th", { scope: "row" }, called(one)), ...Array.from({ length: 3 }, () => element("td"))))))
        : element("div", { class: "write" })))),
    element("h3", {}, say("teach.exit")), element("p", {}, say("teach.exitQuestion")), element("div", { class: "write long" }));
}
