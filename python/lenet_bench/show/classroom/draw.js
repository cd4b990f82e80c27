// The drawing surface: mouse, finger or pen, or a picture dropped, pasted, opened or photographed.
import { say } from "./dom.js";

const PEN = 18; // pixels of 280: a stroke as wide as MNIST's
const LONGEST = 2048; // pixels of a photograph that the preparation sees, as of Python's

export function pad({ canvas, clear, file, hint, see, nothing }) {
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  let last = null; // where the pen is
  let waiting = null; // for the next look
  let took = 0; // milliseconds of the last one: the pen comes first

  const wipe = () => {
    paper.fillStyle = "white";
    paper.fillRect(0, 0, canvas.width, canvas.height);
  };
  const look = () => {
    const start = performance.now();
    const { data, width, height } = paper.getImageData(0, 0, canvas.width, canvas.height);
    see(data, width, height);
    took = performance.now() - start;
    stop();
  };
  const soon = () => {
    waiting ??= setTimeout(look, 2 * took);
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
  const stroke = (to) => {
    Object.assign(paper, { lineWidth: PEN, lineCap: "round", lineJoin: "round", strokeStyle: "black" });
    paper.beginPath();
    paper.moveTo(...last);
    paper.lineTo(...to);
    paper.stroke();
    last = to;
    soon();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
    last = place(event);
    stroke(last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const between = event.getCoalescedEvents?.() ?? [];
    for (const one of between.length ? between : [event]) stroke(place(one));
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; soon(); });

  const start = () => { stop(); wipe(); hint.textContent = say("draw.hint"); nothing(); };
  clear.addEventListener("click", start);
  canvas.addEventListener("keydown", (event) => { if (event.key === "Delete") start(); });

  const open = async (blob) => {
    try {
      const bitmap = await createImageBitmap(blob, { imageOrientation: "from-image" });
      const part = Math.min(1, LONGEST / Math.max(bitmap.width, bitmap.height));
      const [width, height] = [bitmap.width, bitmap.height].map((n) => Math.max(1, Math.round(n * part)));
      const whole = new OffscreenCanvas(width, height).getContext("2d");
      whole.drawImage(bitmap, 0, 0, width, height);
      stop();
      wipe();
      const fit = Math.min(canvas.width / width, canvas.height / height);
      const [w, h] = [width * fit, height * fit];
      paper.drawImage(bitmap, (canvas.width - w) / 2, (canvas.height - h) / 2, w, h);
      hint.textContent = say("draw.hint");
      see(whole.getImageData(0, 0, width, height).data, width, height);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      hint.textContent = say("draw.unreadable");
    }
  };
  file.addEventListener("change", () => { if (file.files[0]) open(file.files[0]); file.value = ""; });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
  document.addEventListener("paste", (event) => {
    const picture = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
    if (picture) open(picture);
  });
  wipe();
}
