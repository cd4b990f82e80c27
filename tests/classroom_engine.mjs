// node classroom_engine.mjs FOLDER WASM WEIGHTS IMAGES ANSWERS: what the page's engine.js computes.
//
// IMAGES are float32 (n, 28, 28). ANSWERS.layers gets, for each, what infer gives and then each of
// the layers; ANSWERS.weights the parameters; their names and a time come out as JSON.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, wasm, weights, images, answers] = process.argv.slice(2);
const { engine } = await import(pathToFileURL(`${folder}/engine.js`));
const network = await engine(readFileSync(wasm), new Uint8Array(readFileSync(weights)));
const content = readFileSync(images);
const all = new Float32Array(content.buffer.slice(content.byteOffset, content.byteOffset + content.length));

const pieces = [];
let names = [];
for (let at = 0; at < all.length; at += 784) {
  const image = all.subarray(at, at + 784);
  const layers = network.layers(image);
  names = Object.keys(layers);
  pieces.push(network.infer(image), ...Object.values(layers));
}
const bytes = (arrays) => Buffer.concat(arrays.map((array) => Buffer.from(array.buffer)));
writeFileSync(`${answers}.layers`, bytes(pieces));
writeFileSync(`${answers}.weights`, bytes(Object.values(network.weights)));
const parameters = Object.keys(network.weights);
console.log(JSON.stringify({ layers: names, parameters, microseconds: network.microseconds() }));
