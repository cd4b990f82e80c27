// Our C++ in this page: the fused kernels and the preparation of pictures (csrc/wasm/), called through
// its memory.
import { preparation } from "./prepare.js";
import { COUNTS } from "./shapes.js";

/** As the module has them one after the other. */
const PARAMETERS = ["conv1", "conv2", "fc1", "fc2"].flatMap((layer) => [`${layer}_weight`, `${layer}_bias`]);
/** As it has their outputs. */
const LAYERS = ["pool1", "pool2", "fc1", "fc2"];

const BATCHES = 15;
const LEAST_MS = 5; // a batch: browsers round their clock to 0.1 ms or 1 ms

/** The network, made of the bytes of native.wasm and of a safetensors file. */
export async function engine(wasmBytes, weightsBytes) {
  const original = readWeights(weightsBytes);
  const weights = { ...original };
  const { instance } = await WebAssembly.instantiate(wasmBytes, {});
  const { memory, ...module } = instance.exports;
  module._initialize();
  const floats = (at, count) => new Float32Array(memory.buffer, at, count);
  /** Other parameters in place of some of the file's, which come back where they are not named. */
  const change = (changes) => {
    Object.assign(weights, original, changes);
    let at = module.weights_at();
    for (const name of PARAMETERS) {
      floats(at, weights[name].length).set(weights[name]);
      at += weights[name].byteLength;
    }
    module.prepare();
  };
  change({});

  const infer = (image) => {
    floats(module.image_at(), COUNTS.image).set(image);
    module.infer();
    return floats(module.probabilities_at(), COUNTS.fc2).slice();
  };
  const layers = (image) => {
    const probabilities = infer(image);
    module.trace();
    const found = {};
    let from = module.layers_at();
    for (const name of LAYERS) {
      found[name] = floats(from, COUNTS[name]).slice();
      from += found[name].byteLength;
    }
    return { ...found, probabilities };
  };
  const microseconds = () => repeated(module.repeat);
  return { infer, layers, microseconds, weights, original, change, ...preparation(instance.exports) };
}

/** One parameter a name, whatever their order in the file. */
function readWeights(bytes) {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const weights = {};
  for (const name of PARAMETERS) {
    const [from, to] = header[name.replace("_", ".")].data_offsets;
    weights[name] = new Float32Array(bytes.slice(8 + length + from, 8 + length + to).buffer);
  }
  return weights;
}

/** The median time of one call, over batches of which most are long enough for the clock; the image is the last. */
function repeated(repeat) {
  const batch = (calls) => {
    const start = performance.now();
    repeat(calls);
    return performance.now() - start;
  };
  for (let calls = 1; ; calls *= 2) {
    const times = Array.from({ length: BATCHES }, () => batch(calls));
    const median = times.sort((a, b) => a - b)[BATCHES >> 1];
    if (median >= LEAST_MS) return (1000 * median) / calls;
  }
}
