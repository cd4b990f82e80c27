// node classroom_prepare.mjs FOLDER BATCH: what the page's prepare.js makes of many pictures.
//
// BATCH.json lists them, BATCH.bin has their pixels; one JSON line a picture comes out.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, batch] = process.argv.slice(2);
const { preparation } = await import(pathToFileURL(`${folder}/prepare.js`));
const { instance } = await WebAssembly.instantiate(readFileSync(`${folder}/native.wasm`), {});
instance.exports._initialize();
const { explain } = preparation(instance.exports);
const content = readFileSync(`${batch}.bin`);

for (const { at, height, width } of JSON.parse(readFileSync(`${batch}.json`))) {
  const found = explain(content.subarray(at, at + 4 * height * width), width, height);
  const steps = found?.steps.map(({ name, summary }) => [name, summary]);
  const image = found && [...found.steps.at(-1).picture.data];
  process.stdout.write(`${JSON.stringify(found && { steps, image })}\n`);
}
