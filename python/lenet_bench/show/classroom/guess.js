// Students order the APIs before they see the figures; nothing is kept and nothing leaves the page.
import { called, element, say, spelt } from "./dom.js";

/** `guessed` gets "time" or "lines" and the names in the order that was guessed, once the answer is shown. */
export function guess(root, data, guessed) {
  const story = data.backends.filter((one) => data.story.includes(one.name));
  const asked = story.length >= 3 ? story : data.backends.slice(0, 6);
  for (const [key, value, text] of [
    ["time", (one) => one.us, (one) => spelt(one.us)],
    ["lines", (one) => one.lines, (one) => say("guess.count", one)],
  ]) {
    const known = asked.filter((one) => value(one) !== null && value(one) !== undefined);
    if (known.length >= 3) root.append(question(key, known, value, text, (names) => guessed(key, names)));
  }
  if (!root.children.length) root.append(element("p", {}, say("guess.none")));
}

function question(key, known, value, text, done) {
  const list = element("ol", { class: "order", id: `guess-${key}` });
  const answer = element("p", { "aria-live": "polite" });
  const show = element("button", { type: "button", class: "main", click: () => reveal() }, say("guess.show"));
  const again = element("button", { type: "button", hidden: true, click: () => ask() }, say("guess.again"));
  const move = (item, step) => {
    const other = step < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (!other) return;
    if (step < 0) other.before(item); else other.after(item);
  };
  function ask() {
    const items = known.map((one) => {
      const item = element("li", { "data-name": one.name });
      const button = (step, sign) => element("button", {
        type: "button", "aria-label": say(step < 0 ? "guess.up" : "guess.down", { name: called(one) }),
        click: (event) => { move(item, step); event.currentTarget.focus(); },
      }, sign);
      item.append(element("span", { class: "grip", "aria-hidden": "true" }, "≡"), element("b", {}, called(one)), button(-1, "↑"), button(1, "↓"));
      return item;
    });
    for (let i = items.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [items[i], items[j]] = [items[j], items[i]];
    }
    list.replaceChildren(...items);
    answer.textContent = "";
    [show.hidden, again.hidden] = [false, true];
  }
  function reveal() {
    const guessed = [...list.children].map((item) => known.find((one) => one.name === item.dataset.name));
    let [right, pairs] = [0, 0];
    guessed.forEach((one, i) => guessed.slice(i + 1).forEach((other) => {
      pairs += 1;
      right += value(one) <= value(other);
    }));
    const order = [...guessed].sort((a, b) => value(a) - value(b));
    list.replaceChildren(...order.map((one) => {
      const was = guessed.indexOf(one) - order.indexOf(one);
      const moved = was === 0 ? say("guess.right") : say("guess.was", { place: guessed.indexOf(one) + 1 });
      return element("li", { "data-name": one.name }, element("b", {}, called(one)), element("span", {}, text(one)),
        element("span", { class: "soft" }, moved));
    }));
    answer.textContent = say("guess.score", { right, pairs });
    done(guessed.map((one) => one.name));
    [show.hidden, again.hidden] = [true, false];
    again.focus();
  }
  byPointer(list);
  ask();
  return element("div", { class: "question" }, element("h3", {}, say(`guess.${key}`)), list,
    element("div", { class: "buttons" }, show, again), answer);
}

/** A row that is held by its grip follows the pointer to its place in the list. */
function byPointer(list) {
  let held = null;
  list.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button !== 0 || !event.target.closest(".grip")) return;
    held = event.target.closest("li");
    held.classList.add("moved");
    list.setPointerCapture(event.pointerId); // the row itself would lose it when it moves
  });
  list.addEventListener("pointermove", (event) => {
    if (!held) return;
    const below = ({ top, bottom }) => event.clientY < (top + bottom) / 2;
    const next = [...list.children].find((one) => one !== held && below(one.getBoundingClientRect()));
    if (next !== (held.nextElementSibling ?? undefined)) list.insertBefore(held, next ?? null);
  });
  for (const name of ["pointerup", "pointercancel"]) list.addEventListener(name, () => {
    held?.classList.remove("moved");
    held = null;
  });
}
