// Every engine in this browser and every backend of this computer, live: what it says, how fast.
import { element, say, spelt, times } from "./dom.js";
import { open, timed } from "./engines.js";

const REST_MS = 100; // since the last stroke, before anybody is asked
const POLL_MS = 1000;

/** A table in `root`; `ask` lets every row answer an image, and the newest image wins. */
export function live(root, { token, weights, names = {}, onAnswer }) {
  const rows = new Map();
  const bodies = { browser: body("browser"), machine: body("machine") };
  const summary = element("p", { class: "live-summary", "aria-live": "polite" });
  const heads = ["backend", "digit", "time", "times"].map((key) => element("th", { scope: "col" }, say(`live.${key}`)));
  root.append(element("p", { class: "alarm unchanged" }, say("live.unchanged")), summary, element("table", { class: "live" },
    element("caption", {}, say("live.caption")),
    element("thead", {}, element("tr", {}, ...heads, element("th", { "aria-hidden": "true" }, say("live.scale")))),
    bodies.browser, bodies.machine));

  const opened = new Map(); // engine -> infer
  let image = null;
  let newest = 0;
  let asking = false;
  let request = new AbortController();

  const named = (name) => names[name] ?? name;
  const address = (path) => `${path}?token=${encodeURIComponent(token)}`;
  const row = (name, place) => {
    if (!rows.has(name)) {
      rows.set(name, line(name, named(name)));
      bodies[place].append(rows.get(name).whole);
      bodies[place].hidden = false;
    }
    return rows.get(name);
  };

  /** What has come of each backend; then again, as long as one is being started. */
  async function watch() {
    const { backends, engines } = await (await fetch(address("/backends"))).json();
    for (const { name, state, reason } of backends) {
      const died = reason && state in { waiting: 1, starting: 1 };
      row(name, "machine").become(died ? "again" : state, reason);
    }
    for (const name of engines.filter((one) => !rows.has(one))) {
      row(name, "browser").become("starting");
      try {
        opened.set(name, await open(name, { token, weights }));
        row(name).become("ready");
      } catch (error) {
        row(name).become("failed", error.message);
      }
    }
    if (backends.some(({ state }) => state === "waiting" || state === "starting")) {
      setTimeout(() => watch().catch(gone), POLL_MS);
    } else if (image && !asking && [...rows.values()].some((one) => one.unasked())) {
      ask(image); // those that were not ready when it was drawn
    }
  }

  async function ask(newImage) {
    const mine = ++newest;
    image = newImage;
    request.abort();
    request = new AbortController();
    const { signal } = request;
    await new Promise((rested) => setTimeout(rested, REST_MS));
    if (mine !== newest) return;
    asking = true;
    for (const one of rows.values()) one.clear();
    const answers = [];
    const take = (answer) => {
      answers.push(answer);
      row(answer.name, "machine").take(answer);
      compare(rows.values());
      onAnswer(answer);
    };
    try {
      for (const [name, infer] of opened) {
        const answer = await timed(name, infer, image);
        if (mine !== newest) return;
        take(answer);
      }
      await answersOf(image, signal, (answer) => mine === newest && take(answer));
      if (mine !== newest) return;
      summary.textContent = summed(answers, named);
      if (answers.some((one) => one.error)) setTimeout(() => watch().catch(gone)); // it may be started again
    } catch (error) {
      if (mine === newest) gone(error);
    } finally {
      if (mine === newest) asking = false;
    }
  }

  async function answersOf(image, signal, take) {
    const pixels = new DataView(new ArrayBuffer(4 * image.length));
    image.forEach((value, n) => pixels.setFloat32(4 * n, value, true));
    const answer = await fetch(address("/infer"), { method: "POST", body: pixels, signal });
    if (!answer.ok) throw new (answer.status === 403 ? Error : Refused)(await answer.text()); // 403: of another start of the program
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const text of lines) take(JSON.parse(text));
    }
  }

  function gone(error) {
    summary.textContent = error instanceof Refused ? say("live.refused", { reason: error.message }) : say("live.gone");
    for (const one of rows.values()) one.forget(["asked"]); // nobody answers any more
  }

  /** The pad is blank: nobody is asked any more, and the answers go. */
  function forget() {
    newest += 1;
    request.abort();
    [image, asking] = [null, false];
    summary.textContent = "";
    for (const one of rows.values()) one.forget();
  }

  watch().catch(gone);
  return { ask, forget };
}

class Refused extends Error {}

function body(place) {
  const head = element("th", { colspan: 5, scope: "rowgroup" }, say(`live.${place}`));
  return element("tbody", { hidden: true }, element("tr", {}, head));
}

/** A row, and what becomes of it. */
function line(name, human) {
  const [digit, time, ratio] = ["live-digit", "time", "live-times"].map((kind) => element("td", { class: kind }));
  const bar = element("div", { class: "live-bar" });
  let us = null; // of its answer
  const whole = element("tr", { "data-name": name }, element("th", { scope: "row" }, human), digit, time, ratio,
    element("td", { class: "live-scale", "aria-hidden": "true" }, bar));
  const become = (state, reason) => {
    if (whole.dataset.state === state || (state === "ready" && whole.dataset.state in { asked: 1, answered: 1 })) return;
    whole.dataset.state = state;
    us = null;
    [digit.textContent, time.textContent, ratio.textContent] = ["", say(`live.states.${state}`, { reason }) ?? "", ""];
    bar.style.inlineSize = "0";
  };
  const clear = () => { if (["ready", "answered"].includes(whole.dataset.state)) become("asked"); };
  const forget = (states = ["asked", "answered"]) => {
    if (!states.includes(whole.dataset.state)) return;
    delete whole.dataset.state;
    become("ready");
  };
  const take = (answer) => {
    if (answer.error) return become("failed", answer.error);
    whole.dataset.state = "answered";
    us = answer.us;
    [digit.textContent, time.textContent] = [answer.digit, spelt(us)];
  };
  const beside = (least, most) => {
    ratio.textContent = say("live.ratio", { times: times(us / least) });
    bar.style.inlineSize = `${(100 * us) / most}%`;
  };
  return { whole, become, clear, forget, take, beside, us: () => us, unasked: () => ["ready", "asked"].includes(whole.dataset.state) };
}

/** Each answer beside the fastest and the slowest there are so far. */
function compare(rows) {
  const answered = [...rows].filter((one) => one.us() !== null);
  const all = answered.map((one) => one.us());
  for (const one of answered) one.beside(Math.min(...all), Math.max(...all));
}

function summed(answers, named) {
  const known = answers.filter((one) => !one.error).sort((one, other) => one.us - other.us);
  if (!known.length) return say("live.none");
  const votes = (digit) => known.filter((one) => one.digit === digit).length;
  const digit = known.map((one) => one.digit).reduce((best, next) => (votes(next) > votes(best) ? next : best));
  const [fastest, slowest] = [known[0], known.at(-1)];
  return say("live.summary", {
    agree: votes(digit), all: known.length, digit,
    fastest: named(fastest.name), least: spelt(fastest.us), slowest: named(slowest.name), most: spelt(slowest.us),
  });
}
