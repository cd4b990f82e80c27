// What happens if a part of the network is broken: a map switched off, a weight of a kernel changed.
import { element, fixed, say } from "./dom.js";
import { KERNEL, SHAPES } from "./shapes.js";

/** The parameters that make a layer, and how many of its weights each map has. */
const MADE_BY = { pool1: ["conv1", 25], pool2: ["conv2", 500], fc1: ["fc1", 800] };

/** Changes `net`, calls `changed` after each change, and says in `root` what is changed. */
export function breaking(root, net, changed) {
  const off = new Map(); // "pool1 3" -> [layer, map]
  const edited = new Map(); // number of a weight of conv1 -> its new value

  const apply = () => {
    const changes = {};
    const own = (name) => (changes[name] ??= net.original[name].slice());
    for (const [index, value] of edited) own("conv1_weight")[index] = value;
    for (const [layer, map] of off.values()) {
      const [name, count] = MADE_BY[layer];
      own(`${name}_weight`).fill(0, map * count, (map + 1) * count);
      own(`${name}_bias`)[map] = 0;
    }
    net.change(changes);
    tell();
    changed();
  };
  const mend = () => {
    off.clear();
    edited.clear();
    apply();
  };
  const tell = () => {
    const said = [...off.values()].map(([layer, map]) => say(`changed.off.${layer}`, { map }));
    if (edited.size) said.push(say("changed.weights", { count: edited.size }));
    root.hidden = said.length === 0;
    document.documentElement.toggleAttribute("data-changed", said.length > 0);
    root.replaceChildren(element("b", {}, say("changed.title", { what: said.join(", ") })),
      element("button", { type: "button", id: "mend", click: mend }, say("changed.mend")));
  };

  /** A kernel of conv1 as 25 fields. */
  const kernel = (map) => {
    const fields = Array.from({ length: KERNEL * KERNEL }, (_, k) => {
      const index = map * KERNEL * KERNEL + k;
      return element("input", {
        type: "number", id: `weight-${k}`, step: "0.1", value: fixed(net.weights.conv1_weight[index]),
        "aria-label": say("changed.weight", { y: Math.floor(k / KERNEL), x: k % KERNEL }),
        change: (event) => {
          if (!Number.isFinite(event.target.valueAsNumber)) return;
          edited.set(index, event.target.valueAsNumber);
          setTimeout(apply); // once the field that comes next has the focus
        },
      });
    });
    return element("fieldset", { class: "kernel" }, element("legend", {}, say("changed.kernel")), ...fields);
  };

  /** What a student can do to the map, or the value of fc1, that is explained. */
  const controls = (layer, index) => {
    if (!(layer in MADE_BY)) return [];
    const map = Math.floor(index / SHAPES[layer].side ** 2);
    const key = `${layer} ${map}`;
    const toggle = () => {
      if (!off.delete(key)) off.set(key, [layer, map]);
      apply();
    };
    const label = say(off.has(key) ? `changed.on.${layer}` : `changed.switch.${layer}`, { map });
    const button = element("button", { type: "button", id: "switch", class: "switch", click: toggle }, label);
    return layer === "pool1" && !off.has(key) ? [button, kernel(map)] : [button];
  };
  root.hidden = true;
  return controls;
}
