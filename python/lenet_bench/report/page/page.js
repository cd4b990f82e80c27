// What a script adds to a page that is complete without it: theme, sorting, filter, tips.
"use strict";

function remembered(value) {
  try {
    if (value !== undefined) localStorage.setItem("lenet-bench-theme", value);
    return localStorage.getItem("lenet-bench-theme");
  } catch {
    return value ?? null; // a page from a disk may have no memory
  }
}

function switchThemes(button) {
  const themes = ["auto", "light", "dark"];
  let now = themes.includes(remembered()) ? remembered() : "auto";
  const show = () => {
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    button.textContent = `Theme: ${now}`;
  };
  button.addEventListener("click", () => {
    now = themes[(themes.indexOf(now) + 1) % themes.length];
    remembered(now);
    show();
  });
  button.hidden = false;
  show();
}

function keyOf(row, column) {
  const cell = row.cells[column];
  const told = cell.dataset.value ?? cell.textContent;
  return told === "" ? null : Number.isNaN(Number(told)) ? told : Number(told);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en");
}

// Cells that hold nothing come last, whichever way the rest is sorted.
function sortRows(body, column, direction) {
  const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return direction * compare(a, b);
  });
  body.append(...rows.map(([, row]) => row));
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, up ? 1 : -1);
    });
    head.replaceChildren(button);
  });
}

function makeFilterable(table, input, shown) {
  const rows = [...table.tBodies[0].rows];
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const left = rows.filter((row) => !row.hidden).length;
    shown.textContent = left < rows.length ? `${left} of ${rows.length}` : "";
  });
  input.closest(".controls").hidden = false;
}

// The browser's own tips come late and not at all to a finger.
function showTips() {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const texts = new WeakMap();
  for (const title of document.querySelectorAll(".mark > title")) {
    texts.set(title.parentNode, title.textContent);
    title.remove();
  }
  document.addEventListener("pointerover", (event) => {
    const text = texts.get(event.target.closest?.(".mark"));
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const above = event.clientY - box.height - 12;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${above > 0 ? above : event.clientY + 18}px`;
  });
  document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
}

switchThemes(document.getElementById("theme"));
const rungs = document.getElementById("rungs");
if (rungs) {
  makeSortable(rungs);
  makeFilterable(rungs, document.getElementById("filter"), document.getElementById("shown"));
}
showTips();
