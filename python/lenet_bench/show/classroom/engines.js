// Engines that run LeNet in this browser, one thread each; their files come from this page's server.
// `weights` is what engine.js read: conv1_weight and so on.

const [LONGEST_MS, FEWEST, MOST] = [50, 3, 50]; // of the timed calls, as of a backend

/** The function that answers an image, warm: browsers compile anew what is called often. */
export async function open(name, { token, weights }) {
  const folder = new URL(`/engines/${token}/`, location.href).href;
  const infer = await { "onnxruntime-web": openOnnxRuntime, tfjs: openTfjs }[name](folder, weights);
  const { error } = await timed(name, infer, new Float32Array(784));
  if (error) throw new Error(error);
  return infer;
}

/** Its answer, and the median time of some calls after one to warm up. */
export async function timed(name, infer, image) {
  try {
    await infer(image);
    const [times, end] = [[], performance.now() + LONGEST_MS];
    let probabilities;
    while (times.length < FEWEST || (times.length < MOST && performance.now() < end)) {
      const begin = performance.now();
      probabilities = await infer(image);
      times.push(performance.now() - begin);
    }
    const us = 1000 * times.sort((a, b) => a - b)[times.length >> 1];
    const digit = probabilities.indexOf(Math.max(...probabilities));
    return { name, digit, probabilities: [...probabilities], us, calls: times.length };
  } catch (error) {
    return { name, error: error.message };
  }
}

async function openOnnxRuntime(folder) {
  const ort = await import(`${folder}ort.wasm.bundle.min.mjs`);
  const wasmPaths = { wasm: `${folder}ort-wasm-simd-threaded.wasm` }; // the script is in the bundle
  Object.assign(ort.env.wasm, { wasmPaths, numThreads: 1 });
  const session = await ort.InferenceSession.create(`${folder}lenet.onnx`, { executionProviders: ["wasm"] });
  return async (image) => {
    const answer = await session.run({ image: new ort.Tensor("float32", image, [1, 1, 28, 28]) });
    return answer.probabilities.data;
  };
}

async function openTfjs(folder, weights) {
  await script(`${folder}tf-core.min.js`);
  await script(`${folder}tf-backend-wasm.min.js`);
  const { tf } = globalThis;
  tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
  tf.wasm.setWasmPaths(folder);
  await tf.setBackend("wasm");

  const last = (name, shape) => tf.transpose(tf.tensor(weights[name], shape), [2, 3, 1, 0]);
  const filters = { conv1: last("conv1_weight", [20, 1, 5, 5]), conv2: last("conv2_weight", [50, 20, 5, 5]) };
  const fc1 = tf.reshape(last("fc1_weight", [500, 50, 4, 4]), [800, 500]); // pool2 has its maps last here
  // Not `transposeB`: fused with a bias, tfjs 4.22 answers wrongly in WebAssembly.
  const fc2 = tf.transpose(tf.tensor(weights.fc2_weight, [10, 500]));
  const bias = (name) => tf.tensor(weights[`${name}_bias`]);
  const biases = { conv1: bias("conv1"), conv2: bias("conv2"), fc1: bias("fc1"), fc2: bias("fc2") };
  const stage = (x, name) => {
    const conv = tf.fused.conv2d({ x, filter: filters[name], strides: 1, pad: "valid", bias: biases[name] });
    return tf.maxPool(conv, 2, 2, "valid");
  };
  return (image) => {
    const answer = tf.tidy(() => {
      const pool2 = stage(stage(tf.tensor(image, [1, 28, 28, 1]), "conv1"), "conv2");
      const flat = tf.reshape(pool2, [1, 800]);
      const hidden = tf.fused.matMul({ a: flat, b: fc1, bias: biases.fc1, activation: "relu" });
      return tf.softmax(tf.fused.matMul({ a: hidden, b: fc2, bias: biases.fc2 }));
    });
    const probabilities = answer.dataSync();
    answer.dispose();
    return probabilities;
  };
}

function script(src) {
  return new Promise((loaded, failed) => {
    const element = Object.assign(document.createElement("script"), { src, onload: loaded });
    element.onerror = () => failed(new Error(`${src} did not load`));
    document.head.append(element);
  });
}
