// node classroom_prepare.mjs FOLDER BATCH: what the page's prepare.js makes of many pictures.
//
// BATCH.json lists them, BATCH.bin has their pixels; one JSON line a picture comes out.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, batch] = process.argv.slice(2);
const { explain, fromPixels, NoInk } = await import(pathToFileURL(`${folder}/prepare.js`));
const content = readFileSync(`${batch}.bin`);

function answer({ at, height, width }) {
  try {
    const steps = explain(fromPixels(content.subarray(at, at + 4 * height * width), width, height));
    const image = Array.from(steps.at(-1).picture.data);
    return { steps: steps.map((step) => [step.name, step.summary]), image };
  } catch (error) {
    if (error instanceof NoInk) return { noInk: error.message };
    throw error;
  }
}

for (const entry of JSON.parse(readFileSync(`${batch}.json`))) {
  process.stdout.write(`${JSON.stringify(answer(entry))}\n`);
}
