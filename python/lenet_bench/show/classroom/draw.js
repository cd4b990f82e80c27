// The drawing surface: mouse, finger or pen, or a picture dropped, pasted, opened or photographed.
import { say } from "./dom.js";

const MOST_BACK = 30; // strokes that can be taken back
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const FRAME_MS = 16; // of the screen: how long a drawing waits at most
const STEP = 10; // pixels of the paper
const LONGEST = 2048; // pixels of a photograph that the preparation sees, as of Python's

/**
 * `see` returns a sentence where there is something to say about what it saw; `changed` gets the
 * strokes, each time that one ends, or none where a picture lies under them.
 */
export function pad({ canvas, at, clear, undo, width, erase, file, hint, see, nothing, changed }) {
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  const before = []; // what stood on the paper, for undo
  let blank = true;
  let drawn = true; // by the pen alone: no picture lies under it
  const cursor = { x: canvas.width / 2, y: canvas.height / 2, down: false }; // the keyboard's pen
  let sampled = false; // whether a digit to begin with stands there
  let strokes = []; // as they were drawn; null above a picture
  let [pen, last] = [null, null]; // the pointer that draws, and where it is
  let waiting = null; // for the next look
  let took = 0; // milliseconds of the last one: the pen comes first

  const erasing = () => erase.getAttribute("aria-pressed") === "true";
  const wipe = () => {
    sampled = false;
    paper.fillStyle = "white";
    paper.fillRect(0, 0, canvas.width, canvas.height);
  };
  const look = () => {
    const start = performance.now();
    const { data } = paper.getImageData(0, 0, canvas.width, canvas.height);
    const sentence = see(data, canvas.width, canvas.height, drawn);
    tell(pen === null ? sentence : undefined); // a stroke begins as a dot
    took = performance.now() - start;
    stop();
    if (pen === null && !cursor.down && !sampled) changed(strokes ?? []);
  };
  const tell = (sentence) => { hint.textContent = sentence ?? say("draw.hint"); };
  const keep = () => {
    if (sampled && erasing()) [sampled, blank, strokes] = [false, false, null]; // it is changed, not replaced
    else if (sampled) wipe();
    before.push({ pixels: paper.getImageData(0, 0, canvas.width, canvas.height), blank, drawn, strokes: strokes && [...strokes] });
    if (before.length > MOST_BACK) before.shift();
    undo.disabled = false;
  };
  const back = () => {
    const found = before.pop();
    undo.disabled = before.length === 0;
    if (!found) return;
    lift();
    stop();
    paper.putImageData(found.pixels, 0, 0);
    ({ blank, drawn, strokes } = found);
    if (blank) { tell(); nothing(); changed([]); } else look();
  };
  const soon = () => {
    waiting ??= setTimeout(look, drawn ? Math.min(took, FRAME_MS) : 2 * took);
    canvas.dataset.waiting = "";
  };
  const stop = () => {
    clearTimeout(waiting);
    waiting = null;
    delete canvas.dataset.waiting;
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) * canvas.width) / box.width,
      ((event.clientY - box.top) * canvas.height) / box.height,
    ];
  };
  const begin = (from) => {
    strokes?.push({ erases: erasing(), width: Number(width.value), points: [] });
    last = from;
    stroke(from);
  };
  const stroke = (to) => {
    strokes?.at(-1).points.push([to[0] / canvas.width, to[1] / canvas.height]);
    line(last, to, { erases: erasing(), width: Number(width.value) });
    last = to;
    soon();
  };
  const line = (from, to, { erases, width: lineWidth }) => {
    Object.assign(paper, { lineWidth, lineCap: "round", lineJoin: "round", strokeStyle: erases ? "white" : "black" });
    paper.beginPath();
    paper.moveTo(...from);
    paper.lineTo(...to);
    paper.stroke();
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return; // a right button, a second finger
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    keep();
    [pen, blank] = [event.pointerId, false];
    begin(place(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerId !== pen) return;
    const between = event.getCoalescedEvents?.() ?? [];
    for (const one of between.length ? between : [event]) stroke(place(one));
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => {
    if (event.pointerId !== pen) return;
    pen = null;
    soon();
  });

  /** The stroke ends, if one is being drawn. */
  const lift = () => {
    [pen, cursor.down] = [null, false];
    at.dataset.down = false;
  };
  const start = () => {
    lift();
    if (!blank) keep();
    [blank, drawn, strokes] = [true, true, []];
    stop();
    wipe();
    tell();
    nothing();
    changed(strokes);
  };
  undo.addEventListener("click", back);
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input[type=number]") || event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
    event.preventDefault();
    back();
  });
  clear.addEventListener("click", start);
  erase.addEventListener("click", () => {
    erase.setAttribute("aria-pressed", !erasing());
  });

  /** Arrows move the pen, the space bar puts it down and lifts it, Delete clears. */
  canvas.addEventListener("keydown", (event) => {
    const [dx, dy] = ARROWS[event.key] ?? [0, 0];
    if (event.key === "Delete") start();
    else if (event.key === " ") {
      cursor.down = !cursor.down;
      if (cursor.down) {
        keep();
        blank = false;
        begin([cursor.x, cursor.y]);
      } else soon();
    } else if (dx || dy) {
      const within = (value, most) => Math.min(Math.max(value, 0), most);
      cursor.x = within(cursor.x + dx * STEP, canvas.width);
      cursor.y = within(cursor.y + dy * STEP, canvas.height);
      if (cursor.down) stroke([cursor.x, cursor.y]);
    } else return;
    event.preventDefault();
    point();
  });
  const point = () => {
    at.hidden = document.activeElement !== canvas;
    at.dataset.down = cursor.down;
    at.style.left = `${(100 * cursor.x) / canvas.width}%`;
    at.style.top = `${(100 * cursor.y) / canvas.height}%`;
  };
  canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) point(); });
  canvas.addEventListener("blur", () => {
    if (cursor.down) soon();
    lift();
    at.hidden = true;
  });

  const open = async ([blob, ...more]) => {
    if (!blob) return;
    try {
      const bitmap = await createImageBitmap(blob, { imageOrientation: "from-image" });
      const part = Math.min(1, LONGEST / Math.max(bitmap.width, bitmap.height));
      const [columns, rows] = [bitmap.width, bitmap.height].map((n) => Math.max(1, Math.round(n * part)));
      const whole = new OffscreenCanvas(columns, rows).getContext("2d");
      whole.drawImage(bitmap, 0, 0, columns, rows);
      stop();
      keep();
      wipe();
      [blank, drawn, strokes] = [false, false, null];
      const fit = Math.min(canvas.width / columns, canvas.height / rows);
      const [w, h] = [columns * fit, rows * fit];
      paper.drawImage(bitmap, (canvas.width - w) / 2, (canvas.height - h) / 2, w, h);
      const sentence = see(whole.getImageData(0, 0, columns, rows).data, columns, rows);
      changed([]);
      tell([more.length && say("draw.several", { count: more.length + 1 }), sentence].filter(Boolean).join(" ") || undefined);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      start();
      tell(say("draw.unreadable"));
    }
  };
  file.addEventListener("change", () => { open([...file.files]); file.value = ""; });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    open([...event.dataTransfer.files]);
  });
  document.addEventListener("paste", (event) => {
    open([...event.clipboardData.files].filter((one) => one.type.startsWith("image/")));
  });
  wipe();

  const draw = (given) => {
    for (const { points, ...kind } of given) {
      const all = points.map(([x, y]) => [x * canvas.width, y * canvas.height]);
      all.forEach((to, n) => line(all[Math.max(0, n - 1)], to, kind));
    }
    look();
  };
  /** A digit to begin with: the first stroke takes it away. */
  const sample = (given) => {
    sampled = true;
    draw(given);
    tell(say("draw.sample"));
  };
  /** A drawing as it was kept. */
  const restore = (given) => {
    [blank, strokes] = [false, given];
    draw(given);
  };
  return { sample, restore };
}
