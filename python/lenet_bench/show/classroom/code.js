// The code of two or three APIs, stage by stage; a stage that is pointed at is lit everywhere.
import { keep, kept } from "./address.js";
import { $, called, element, say, sized, spelt } from "./dom.js";

const MOST = 3; // side by side
const FIRST = ["numpy", "keras"]; // where the result has them
const SHOWS = { load: "image", conv1: "pool1", pool1: "pool1", conv2: "pool2", pool2: "pool2", fc1: "fc1" };

export function code(root, data) {
  const known = data.backends.filter((one) => one.listing !== null);
  if (known.length === 0) {
    root.append(element("p", {}, say("code.none")));
    return { watch: () => {}, point: () => null };
  }
  const used = new Set(data.listings.flat().flatMap((part) => part.stages));
  const stages = data.stages.filter((stage) => used.has(stage));
  let held = null; // the stage that was clicked

  const light = (stage) => {
    for (const one of document.querySelectorAll("[data-stage]")) {
      const own = one.dataset.stage.split(",");
      one.classList.toggle("lit", stage !== null && stage.split(",").some((lit) => own.includes(lit)));
    }
  };
  const point = (target) => light(target?.closest("[data-stage]")?.dataset.stage ?? held);
  const hold = (stage) => {
    held = held === stage ? null : stage;
    for (const button of strip.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.dataset.stage === held);
    }
    light(held);
    if (held === null) return;
    for (const listing of panes.querySelectorAll(".listing")) {
      const first = listing.querySelector(".lit");
      if (first) listing.scrollTop = first.offsetTop;
    }
  };
  const pictures = {};
  const strip = element("div", { class: "strip" }, ...stages.map((stage) => {
    const canvas = element("canvas", { "aria-hidden": "true" });
    if (SHOWS[stage]) pictures[stage] = canvas;
    return element("button", {
      type: "button", "data-stage": stage, "aria-pressed": "false", click: () => hold(stage),
    }, ...(SHOWS[stage] ? [canvas] : []), say(`code.stages.${stage}`) ?? stage);
  }));
  const panes = element("div", { class: "panes" });
  for (const node of [strip, panes]) {
    node.addEventListener("pointerover", (event) => point(event.target));
    node.addEventListener("pointerleave", () => light(held));
    node.addEventListener("focusin", (event) => point(event.target));
  }

  const add = (name) => panes.append(pane(name));
  const more = element("button", { type: "button", id: "more", click: () => {
    const there = shown();
    add((known.find((one) => !there.includes(one.name)) ?? known[0]).name);
    changed();
  } }, say("code.more"));
  const shown = () => [...panes.querySelectorAll("select")].map((one) => one.value);
  const changed = () => {
    keep({ code: shown().join(",") });
    more.disabled = panes.children.length >= MOST;
  };
  root.append(element("p", { class: "soft" }, say("code.hint")), strip, panes, more);
  const names = known.map((one) => one.name);
  const asked = kept().get("code")?.split(",").filter((name) => names.includes(name)) ?? [];
  const others = [...FIRST, ...names].filter((name, n, all) => names.includes(name) && !asked.includes(name) && all.indexOf(name) === n);
  const first = [...asked, ...others];
  for (const name of first.slice(0, Math.min(MOST, Math.max(2, asked.length)))) add(name);
  more.disabled = panes.children.length >= MOST;

  function pane(name) {
    const choice = element("select", { "aria-label": say("code.choose") },
      ...known.map((one) => element("option", { value: one.name }, called(one))));
    choice.value = name;
    const [cost, about, listing] = [element("p", { class: "cost" }), element("p", { class: "soft" }),
      element("div", { class: "listing", tabindex: "0", role: "region" })];
    const show = () => {
      const one = known.find(({ name: given }) => given === choice.value);
      const listed = data.listings[one.listing].flatMap(({ numbers }) => numbers.filter(Boolean)).length;
      cost.textContent = say("code.cost", { lines: one.lines, listed, time: spelt(one.us) });
      about.textContent = one.about;
      listing.setAttribute("aria-label", say("code.of", one));
      listing.replaceChildren(...data.listings[one.listing].map(part));
      light(held);
    };
    choice.addEventListener("change", () => {
      show();
      changed();
    });
    show();
    return element("article", {}, choice, cost, about, listing);
  }

  function part({ stages: own, file, numbers, html }) {
    const spelled = own.map((stage) => say(`code.stages.${stage}`) ?? stage).join(", ");
    const lines = element("pre");
    lines.innerHTML = html;
    return element("div", { "data-stage": own.join(",") },
      element("h3", {}, spelled, element("span", { class: "soft" }, ` ${file}`)),
      element("div", { class: "lines" }, element("pre", { class: "gutter", "aria-hidden": "true" }, numbers.join("\n")), lines));
  }

  const watch = () => {
    for (const [stage, canvas] of Object.entries(pictures)) {
      const drawn = $(`layer-${SHOWS[stage]}`);
      sized(canvas, drawn).drawImage(drawn, 0, 0);
    }
  };

  /** Marks a line of a backend's code where a pane shows it, or lights its stage; gives the line's text. */
  function marked({ name, file, line, stage }) {
    for (const one of panes.querySelectorAll(".here")) one.remove();
    const listing = data.listings[known.find((one) => one.name === name)?.listing] ?? [];
    const at = listing.findIndex((one) => (stage ? one.stages.includes(stage) : one.file === file?.replace("lenet_bench/", "") && one.numbers.includes(String(line))));
    if (stage && held !== stage) hold(stage);
    if (at < 0) return null;
    const { html, numbers } = listing[at];
    const row = stage ? 0 : numbers.indexOf(String(line));
    const choice = [...panes.querySelectorAll("select")].find((one) => one.value === name);
    if (choice) markLine(choice.closest("article").querySelector(".listing"), at, row / numbers.length, 1 / numbers.length);
    const text = element("pre");
    text.innerHTML = html;
    return text.textContent.split("\n")[row].trim();
  }

  /** A frame around a part's line, from this share of its height on. */
  function markLine(pane, at, from, share) {
    const mark = element("i", { class: "here" });
    Object.assign(mark.style, { insetBlockStart: `${100 * from}%`, blockSize: `${100 * share}%` });
    const lines = pane.children[at].querySelector(".lines");
    lines.append(mark);
    pane.scrollTop = lines.offsetTop + from * lines.clientHeight - pane.clientHeight / 3;
  }
  return { watch, point: marked };
}
