// node classroom_prepare.mjs FOLDER BATCH: what the page's prepare.js makes of many pictures.
//
// BATCH.json lists them, BATCH.bin has their pixels; one JSON line a picture comes out.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, batch] = process.argv.slice(2);
const { explain, fromPixels, NoInk } = await import(pathToFileURL(`${folder}/prepare.js`));
const content = readFileSync(`${batch}.bin`);

function pictureOf({ at, height, width }) {
  return fromPixels(content.subarray(at, at + 4 * height * width), width, height);
}

function brief({ height, width, channels, data }) {
  return { shape: [height, width, channels], sum: data.reduce((total, value) => total + value, 0) };
}

function answer(entry) {
  let decoded = null;
  try {
    const picture = pictureOf(entry);
    decoded = brief(picture);
    const steps = explain(picture);
    return {
      decoded,
      steps: steps.map((step) => [step.name, step.summary, brief(step.picture)]),
      image: Array.from(steps.at(-1).picture.data),
    };
  } catch (error) {
    if (error instanceof NoInk) return { decoded, noInk: error.message };
    throw error;
  }
}

for (const entry of JSON.parse(readFileSync(`${batch}.json`))) {
  process.stdout.write(`${JSON.stringify(answer(entry))}\n`);
}
