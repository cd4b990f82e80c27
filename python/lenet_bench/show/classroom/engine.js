// Our fused kernels in this page: csrc/wasm/classroom.cpp, called through its memory.

import { strings } from "./strings.js";

/** As the module has them one after the other, with the floats of each. */
const PARAMETERS = {
  conv1_weight: 20 * 25,
  conv1_bias: 20,
  conv2_weight: 50 * 20 * 25,
  conv2_bias: 50,
  fc1_weight: 500 * 800,
  fc1_bias: 500,
  fc2_weight: 10 * 500,
  fc2_bias: 10,
};
const LAYERS = { pool1: 20 * 12 * 12, pool2: 50 * 4 * 4, fc1: 500, fc2: 10 };
const PIXELS = 28 * 28;
const CLASSES = 10;

const BATCHES = 15;
const LEAST_MS = 5; // a batch: browsers round their clock to 0.1 ms or 1 ms

/** The network, made of the bytes of fused.wasm and of a safetensors file. */
export async function engine(wasmBytes, weightsBytes) {
  const weights = readWeights(weightsBytes);
  const { instance } = await WebAssembly.instantiate(wasmBytes, {});
  const { memory, ...module } = instance.exports;
  module._initialize();
  const floats = (at, count) => new Float32Array(memory.buffer, at, count);
  let at = module.weights_at();
  for (const values of Object.values(weights)) {
    floats(at, values.length).set(values);
    at += values.byteLength;
  }
  module.prepare();

  const input = floats(module.image_at(), PIXELS);
  const show = (image) => {
    if (image.length !== PIXELS) throw new RangeError(strings.engine.image);
    input.set(image);
  };
  const infer = (image) => {
    show(image);
    module.infer();
    return floats(module.probabilities_at(), CLASSES).slice();
  };
  const layers = (image) => {
    const probabilities = infer(image);
    module.trace();
    return { ...split(memory.buffer, module.layers_at(), LAYERS), probabilities };
  };
  return { infer, layers, microseconds: () => microseconds(module.repeat), weights };
}

/** One parameter a name, whatever their order in the file. */
function readWeights(bytes) {
  const whole = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
  const length = Number(new DataView(whole.buffer, whole.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(whole.subarray(8, 8 + length)));
  const weights = {};
  for (const [name, count] of Object.entries(PARAMETERS)) {
    const entry = header[name.replace("_", ".")];
    const [from, to] = entry?.data_offsets ?? [0, 0];
    if (entry?.dtype !== "F32" || to - from !== 4 * count) throw new Error(strings.engine.weights);
    weights[name] = new Float32Array(whole.slice(8 + length + from, 8 + length + to).buffer);
  }
  return weights;
}

function split(buffer, at, counts) {
  const parts = {};
  for (const [name, count] of Object.entries(counts)) {
    parts[name] = new Float32Array(buffer, at, count).slice();
    at += 4 * count;
  }
  return parts;
}

/** The median time of one call, over batches long enough for the clock; the image is the last. */
function microseconds(repeat) {
  const batch = (calls) => {
    const start = performance.now();
    repeat(calls);
    return performance.now() - start;
  };
  let calls = 1;
  while (batch(calls) < LEAST_MS) calls *= 2;
  const times = Array.from({ length: BATCHES }, () => batch(calls) / calls);
  return 1000 * times.sort((a, b) => a - b)[BATCHES >> 1];
}
