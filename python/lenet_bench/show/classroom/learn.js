// How the network learned, from the history in its weights, and how often it is wrong.
import { element, paint, say } from "./dom.js";
import { svg } from "./many.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [640, 240, 90, 34, 14];

export function learn(root, learnt) {
  if (!learnt) return root.append(element("p", {}, say("learn.none")));
  const epochs = learnt.wrong_by_epoch.length;
  const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;
  const wrong = learnt.test_images - learnt.test_correct;
  const values = {
    epochs, wrong, percent: percent(wrong / learnt.test_images), images: learnt.test_images, held: learnt.validation_images,
    first: percent(learnt.wrong_by_epoch[0]), chosen: learnt.chosen_epoch, batch: learnt.batch,
  };
  root.append(element("p", { class: "outcome" }, say("learn.wrong", values)),
    element("ul", { class: "wrong" }, ...learnt.wrong.map((one) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      const ink = Uint8Array.from(atob(one.pixels), (letter) => letter.charCodeAt(0));
      paint(canvas, { width: 28, height: 28, channels: 1, data: Float32Array.from(ink, (value) => 1 - value / 255) });
      return element("li", {}, canvas, say("learn.one", one));
    })), element("p", { class: "soft" }, learnt.notice),
    element("p", {}, say("learn.how", values)),
    element("figure", {}, curve(learnt, percent), element("figcaption", {}, say("learn.curve", values))));
}

function curve({ wrong_by_epoch: shares, chosen_epoch: chosen }, percent) {
  const most = Math.max(...shares);
  const x = (epoch) => LEFT + ((WIDTH - LEFT - 16) * (epoch - 1)) / Math.max(1, shares.length - 1);
  const y = (share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share / most);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": say("learn.chart") },
    ...[0, most / 2, most].flatMap((share) => [svg("line", { x1: LEFT, x2: WIDTH - 16, y1: y(share), y2: y(share), class: "rule" }),
      svg("text", { x: LEFT - 6, y: y(share) + 6, "text-anchor": "end" }, percent(share))]),
    ...[1, chosen].map((epoch) => svg("text", { x: x(epoch), y: HEIGHT - 8, "text-anchor": "middle" }, epoch)),
    svg("g", { class: "line-0" }, svg("polyline", { points: shares.map((share, n) => `${x(n + 1)},${y(share)}`).join(" ") }),
      svg("circle", { cx: x(chosen), cy: y(shares[chosen - 1]), r: 6 })));
}
