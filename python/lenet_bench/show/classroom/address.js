// What the page's address keeps: #step=5&minutes=45&drawing=...&code=...; a reload or a link brings it back.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const LAST = DIGITS.length - 1;

const all = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

/** All that the address keeps. */
export const kept = () => all;

/** An anchor, the way back, or a link to a step: what else was kept is still so. */
addEventListener("hashchange", () => setTimeout(keep, 0, {})); // once the browser is there

/** Keeps these values; null or nothing takes one out of the address. */
export function keep(changes) {
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") all.delete(key);
    else all.set(key, value);
  }
  const text = String(all);
  if (text || location.hash.includes("=")) history.replaceState(null, "", `${location.pathname}${location.search}${text && "#"}${text}`);
}

/** Strokes of points from 0 to 1, each with its width and whether it erases, in two letters a point. */
export function spellStrokes(strokes) {
  const letter = (part) => DIGITS[Math.round(LAST * Math.min(1, Math.max(0, part)))];
  return strokes.map(({ erases, width, points }) => {
    const cells = points.map(([x, y]) => letter(x) + letter(y)).filter((one, n, all) => n === 0 || one !== all[n - 1]);
    return `${erases ? "e" : "p"}${DIGITS[width]}${cells.join("")}`;
  }).join(".");
}

/** The strokes of such a text; none where it is not one. */
export function readStrokes(text) {
  const form = /^[ep][\w-](?:[\w-]{2})+$/;
  const parts = text.split(".");
  if (!parts.every((part) => form.test(part))) return [];
  const at = (letter) => DIGITS.indexOf(letter) / LAST;
  return parts.map((part) => ({
    erases: part[0] === "e",
    width: DIGITS.indexOf(part[1]),
    points: part.slice(2).match(/../g).map(([x, y]) => [at(x), at(y)]),
  }));
}
