// node classroom_engine.mjs FOLDER WASM WEIGHTS IMAGES ANSWERS: what the page's engine.js computes.
//
// IMAGES are float32 (n, 28, 28). ANSWERS gets the layers of each, from pool1 to the probabilities.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, wasm, weights, images, answers] = process.argv.slice(2);
const { engine } = await import(pathToFileURL(`${folder}/engine.js`));
const network = await engine(readFileSync(wasm), new Uint8Array(readFileSync(weights)));
const content = readFileSync(images);
const all = new Float32Array(content.buffer.slice(content.byteOffset, content.byteOffset + content.length));

const pieces = [];
for (let at = 0; at < all.length; at += 784) {
  pieces.push(...Object.values(network.layers(all.subarray(at, at + 784))));
}
writeFileSync(answers, Buffer.concat(pieces.map((array) => Buffer.from(array.buffer))));
