// Outlines over a layer's picture: values and windows, in the picture's own pixels.
import { element } from "./dom.js";

/** A canvas with room for outlines; `outline` replaces them by these boxes [x, y, width, height]. */
export function outlined(canvas) {
  const over = element("div", { class: "over", "aria-hidden": "true" });
  const frame = element("div", { class: "frame" }, canvas, over);
  const outline = (boxes) => over.replaceChildren(...boxes.map(([x, y, width, height, kind = "window"]) => {
    const mark = element("i", { class: kind });
    const share = (value, whole) => `${(100 * value) / whole}%`;
    Object.assign(mark.style, {
      left: share(x, canvas.width), top: share(y, canvas.height),
      width: share(width, canvas.width), height: share(height, canvas.height),
    });
    return mark;
  }));
  return { frame, outline };
}
