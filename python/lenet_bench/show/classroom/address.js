// What the page's address keeps: #step=5&minutes=45&drawing=...&code=...; a reload or a link brings it back.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
const LAST = DIGITS.length - 1;

let all = new URLSearchParams();
read();
addEventListener("hashchange", read);

/** All that the address keeps; a plain anchor (#race) changes nothing of it. */
export const kept = () => all;

function read() {
  if (location.hash.includes("=")) all = new URLSearchParams(location.hash.slice(1));
  else if (String(all)) setTimeout(keep, 0, {}); // once the browser is at the anchor
}

/** Keeps these values; null or nothing takes one out. */
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
