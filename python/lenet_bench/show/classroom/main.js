// The page: what is drawn goes through the preparation and the network, and every part shows it.
import { breaking } from "./break.js";
import { engine } from "./engine.js";
import { inflate } from "./inflate.js";
import { pad } from "./draw.js";
import { layers } from "./layers.js";
import { guess } from "./guess.js";
import { race } from "./race.js";
import { many } from "./many.js";
import { open } from "./opened.js";
import { learn } from "./learn.js";
import { teach } from "./teach.js";
import { who } from "./who.js";
import { code } from "./code.js";
import { live } from "./live.js";
import { SAMPLE, headline, legend } from "./first.js";
import { keep, kept, readStrokes, spellStrokes } from "./address.js";
import { switchThemes } from "./common.js";
import { $, element, paint, say, speakAll, spelt } from "./dom.js";

/** What the page holds of that name, or else its server. */
async function unpacked(id) {
  const held = $(id).textContent;
  const bytes = held ? Uint8Array.from(atob(held), (letter) => letter.charCodeAt(0)) : await loaded(`${id}.bin`);
  $(id).remove();
  if (!globalThis.DecompressionStream) return inflate(bytes); // before 2023
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function loaded(file) {
  const answer = await fetch(file).catch(() => null);
  if (!answer?.ok) throw new Unloaded(say("unloaded", { file }));
  const parts = [];
  let count = 0;
  const reader = answer.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    count += part.value.length;
    $("took").textContent = say("loading", { file, kilobytes: Math.round(count / 1000) });
  }
  $("took").textContent = "";
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

class Unloaded extends Error {}

/** Drawn where somebody looks at them: all of them take as long as the answer. */
function showSteps(steps) {
  if (!$("steps").open) steps = [];
  $("steps").querySelector("ol").replaceChildren(...steps.map((step) => {
    const canvas = element("canvas");
    paint(canvas, step.picture);
    return element("li", {}, canvas, element("b", {}, say(`prepare.names.${step.name}`)),
      element("span", { class: "soft" }, step.summary));
  }));
}

async function start() {
  speakAll();
  switchThemes($("theme"), (theme) => say(`theme.${theme}`));
  const data = JSON.parse(new TextDecoder().decode(await unpacked("lesson")));
  const track = race($("racing"), data);
  const panes = code($("coding"), data);
  shown(data, track, panes); // by thirty phones on one access point, long before the weights are there
  const [weights, kernels] = await Promise.all(["weights", "kernels"].map(unpacked));
  const net = await engine(kernels, weights);
  let [last, image] = [[], null];
  const controls = breaking($("changes"), net, () => { if (image) answered(image, last); });
  const watchers = [layers($("layers"), $("origin"), net.weights, controls)];
  $("steps").addEventListener("toggle", () => showSteps(last));
  const answered = (pixels, steps) => {
    [last, image] = [steps, pixels];
    const seen = { image, ...net.layers(image) };
    const digit = seen.probabilities.indexOf(Math.max(...seen.probabilities));
    $("answer").dataset.digit = digit;
    $("answer").textContent = digit;
    $("took").hidden = false;
    showSteps(steps);
    for (const watch of watchers) watch(seen);
  };
  const nothing = () => {
    [last, image] = [[], null];
    delete $("answer").dataset.digit;
    $("answer").textContent = "";
    $("took").hidden = true;
    showSteps([]);
    for (const watch of watchers) watch(null);
  };
  const see = (pixels, width, height, byPen) => {
    const prepared = (byPen ? net.drawn : net.explain)(pixels, width, height);
    if (!prepared) {
      nothing();
      return say("draw.noInk");
    }
    const { steps, side } = prepared;
    answered(steps.at(-1).picture.data, steps);
    return side && say(`draw.more.${side}`);
  };
  const paper = pad({ canvas: $("draw"), at: $("at"), erase: $("erase"), clear: $("clear"), undo: $("undo"), width: $("width"), file: $("picture"), hint: $("hint"), see, nothing, changed: (strokes) => keep({ drawing: spellStrokes(strokes) }) });
  watchers.push(panes.watch);
  if (data.served) {
    const token = new URLSearchParams(location.search).get("token");
    for (const id of ["live", "live-link"]) $(id).hidden = false;
    const table = live($("living"), { token, weights: net.weights, names: data.called, onAnswer: track.answered });
    watchers.push((seen) => (seen ? table.ask(seen.image) : table.forget()));
  }
  const strokes = readStrokes(kept().get("drawing") ?? "");
  if (strokes.length) paper.restore(strokes); // which all of the page answers
  else paper.sample(SAMPLE);
  method(data, net, track);
  document.documentElement.dataset.ready = "";
}

/** All that needs no network. */
function shown(data, track, panes) {
  const page = document.documentElement;
  headline($("headline"), data);
  legend($("legend"));
  guess($("guessing"), data, (what, names) => {
    page.dataset.guessed = `${page.dataset.guessed ?? ""} ${what}`;
    if (what === "time") track.expect(names);
  });
  who($("callers"), data);
  learn($("learned"), data.learnt);
  many($("amounts"), data);
  open($("opened"), data.opened, panes.point);
  teach(data);
}

function method(data, net, track) {
  const here = element("span", { id: "here" }, say("method.measuring"));
  const again = element("button", { type: "button", id: "measure" }, say("method.again"));
  const idle = globalThis.requestIdleCallback ?? setTimeout; // not every browser has it
  const measure = () => idle(() => {
    const us = net.microseconds();
    here.textContent = say("method.here", { time: spelt(us) });
    track.inBrowser(us);
  });
  again.addEventListener("click", measure);
  const elsewhere = [...new Set(data.backends.map((one) => one.apart_on).filter(Boolean))];
  $("methods").append(
    element("p", {}, say("method.result", data)),
    ...(data.backends.some((one) => one.name === "fused") ? [element("p", {}, say("method.ours"))] : []),
    ...elsewhere.map((machine) => element("p", {}, say("method.parts", { machine }))),
    ...(data.warnings.length ? [element("h3", { id: "warnings" }, say("method.warnings")),
      element("ul", {}, ...data.warnings.map((text) => element("li", {}, text)))] : []),
    element("p", {}, here, " ", again),
    element("p", {}, say(data.served ? "method.served" : "method.private")),
  );
  $("took").append(say("draw.computed"));
  measure();
}

start().catch((error) => {
  $("main").prepend(element("p", { class: "alarm", role: "alert" }, error instanceof Unloaded ? error.message : say("broken")));
  throw error;
});
