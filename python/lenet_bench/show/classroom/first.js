// The first screen: what the page is about, in the result's figures, and a digit that is computed already.
import { called, element, say, spelt, times } from "./dom.js";

/** A three, as a pen writes it: two arcs of points from 0 to 1. */
export const SAMPLE = [{ erases: false, width: 18, points: [...arc(0.47, 0.31, 0.16, -2.7, 1.4), ...arc(0.46, 0.65, 0.2, -1.4, 2.7)] }];

function arc(x, y, radius, from, to) {
  return Array.from({ length: 24 }, (_, n) => {
    const angle = from + ((to - from) * n) / 23;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
}

/** The headline: the fastest and the slowest of the story, whose names wait for the guess. */
export function headline(root, data) {
  const story = data.backends.filter((one) => data.story.includes(one.name));
  const [first, last] = [story[0], story.at(-1)];
  if (story.length < 2) return;
  const said = { least: spelt(first.us), first: called(first), most: spelt(last.us), last: called(last), times: times(last.us / first.us) };
  root.append(
    element("p", { class: "headline" }, say("first.headline", said), " ",
      element("span", { class: "named" }, say("first.named", said))),
    element("p", { class: "soft" }, say("first.why"), " ", ...warned(data)),
  );
}

const warned = ({ warnings }) => (warnings.length ? [element("a", { href: "#warnings" }, say("first.warnings", { count: warnings.length }))] : []);

/** What the colours of the maps mean. */
export function legend(root) {
  root.append(...["above", "zero", "below"].map((key) =>
    element("span", {}, element("i", { class: `dot ${key}` }), say(`first.${key}`))));
}
