// Any picture of a digit -> 28x28 as MNIST made its own: csrc/images/ in WebAssembly, as Python calls it.
import { filled, strings } from "./strings.js";

const text = strings.prepare;
// In the order of csrc/images/.
const NAMES = ["picture", "untouched", "sheet", "margin", "grey", "zoom", "light", "ink", "digit", "scale", "centre"];
const SIDES = [null, "left", "right", "together"];

/** Of a module's exports: each returns {steps, side} of bytes (red, green, blue, alpha), or null. */
export function preparation({ memory, ...module }) {
  const stepAt = (number, own) => {
    const [name, height, width, channels, values, abouts, about] = new Int32Array(memory.buffer, module.step_at(number), 7);
    const data = new Float32Array(memory.buffer, values, height * width * channels).slice();
    const summary = own[NAMES[name]] ?? summed(NAMES[name], [...new Int32Array(memory.buffer, about, abouts)]);
    return { name: NAMES[name], summary, picture: { height, width, channels, data } };
  };
  const by = (steps, own = {}) => (rgba, width, height) => {
    const at = module.pixels_at(rgba.length); // which may move the memory
    new Uint8Array(memory.buffer).set(rgba, at);
    const count = steps(height, width);
    if (count === 0) return null; // no pen strokes
    const all = Array.from({ length: count }, (_, number) => stepAt(number, own));
    return { steps: all.filter((step) => step.name !== "picture"), side: SIDES[module.side_of_digit()] };
  };
  /** `drawn` is of the clean pad: its ink is black, and there is no light, table or colour. */
  return { explain: by(module.explain_picture), drawn: by(module.explain_pad, text.drawn) };
}

/** What is said of a step, with what it was about. */
function summed(name, about) {
  if (name === "grey") {
    const [view, turned] = about;
    return turned ? filled(text.turned, { view: text.views[view] }) : text.views[view];
  }
  if (name !== "zoom" || about.length === 0) return text[name] ?? "";
  const [x0, x1, y0, y1] = about;
  return filled(text.part, { x0, x1, y0, y1 });
}
