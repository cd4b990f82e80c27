// Who calls whom: a card for each backend of the story.
import { called, element, say } from "./dom.js";

export function who(root, data) {
  const cards = data.backends.filter((one) => data.story.includes(one.name) && one.language);
  if (!cards.length) return;
  root.append(element("h3", {}, say("who.title")), element("ul", { class: "cards" }, ...cards.map((one) =>
    element("li", {}, element("b", {}, called(one)), " ", say(one.chain.length ? "who.calls" : "who.none", {
      language: one.language, chain: one.chain.join(say("who.next")),
    })))));
}
