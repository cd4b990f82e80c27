// What a script adds to a page that is complete without it: theme, sorting, filter, tips, folding.
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
    head.dataset.title = head.textContent; // for paper
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

// The browser's own tips come late, and not at all to a finger or a keyboard.
function showTips() {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const texts = textsOfMarks();
  const hide = () => {
    tip.hidden = true;
    document.querySelector(".mark.here")?.classList.remove("here");
  };
  const show = (text, x, y) => {
    hide();
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const above = y - box.height - 12;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${above > 0 ? above : Math.max(y, 0) + 18}px`;
  };
  let resting = "";
  const place = (event) => `${event.clientX} ${event.clientY}`;
  document.addEventListener("pointermove", (event) => (resting = place(event)));
  document.addEventListener("pointerover", (event) => {
    if (place(event) === resting) return; // the page moved under it
    show(texts.get(event.target.closest?.(".mark")), event.clientX, event.clientY);
  });
  // Not on scroll: the arrows scroll too.
  for (const moved of ["wheel", "touchmove"]) {
    document.addEventListener(moved, hide, { passive: true });
  }
  for (const drawing of document.querySelectorAll("figure svg")) {
    drawing.addEventListener("click", (event) => {
      const [x, y] = [event.clientX, event.clientY];
      const told = marksAt(drawing, x, y).map((mark) => texts.get(mark));
      if (told.length) show(told.join("\n"), x, y);
    });
    drawing.addEventListener("focus", () => {
      const box = drawing.getBoundingClientRect();
      if (drawing.matches(":focus-visible")) show("Arrow keys tell each mark", box.left, box.top);
    });
    stepThrough(drawing, hide, (mark) => {
      mark.scrollIntoView({ block: "nearest", behavior: "instant" });
      const box = mark.getBoundingClientRect();
      show(texts.get(mark), box.right - 14, box.top);
      mark.classList.add("here");
    });
  }
}

// What each mark tells; a phone's drawing has the desk's marks, and their texts only once.
function textsOfMarks() {
  const texts = new WeakMap();
  for (const figure of document.querySelectorAll("figure")) {
    const narrow = figure.querySelectorAll(".narrow .mark");
    const wide = figure.querySelectorAll(".wide .mark");
    wide.forEach((mark, number) => {
      const title = mark.querySelector("title");
      for (const one of [mark, narrow.length === wide.length ? narrow[number] : null]) {
        if (one) texts.set(one, title.textContent);
      }
      title.remove();
    });
  }
  return texts;
}

// The nearest mark, and in a crowd all that a finger cannot tell apart.
function marksAt(drawing, x, y) {
  const found = [...drawing.querySelectorAll(".mark")].map((mark) => {
    const box = mark.getBoundingClientRect();
    const across = Math.max(box.left - x, x - box.right, 0);
    const down = Math.max(box.top - y, y - box.bottom, 0);
    const middle = Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2);
    return { mark, far: Math.hypot(across, down), middle };
  });
  found.sort((a, b) => a.far - b.far);
  const meant = found.filter(({ far, middle }, n) => (n === 0 && far < 24) || middle < 12);
  return meant.map(({ mark }) => mark);
}

// One stop of the Tab key a figure; within it the arrows go from mark to mark.
function stepThrough(drawing, hide, show) {
  const marks = [...drawing.querySelectorAll(".mark")];
  const last = marks.length - 1;
  let at = -1;
  const steps = {
    ArrowRight: () => Math.min(at + 1, last),
    ArrowDown: () => Math.min(at + 1, last),
    ArrowLeft: () => Math.max(at - 1, 0),
    ArrowUp: () => Math.max(at - 1, 0),
    Home: () => 0,
    End: () => last,
  };
  drawing.tabIndex = 0;
  drawing.addEventListener("blur", hide);
  drawing.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    if (!(event.key in steps) || last < 0) return;
    event.preventDefault();
    at = steps[event.key]();
    show(marks[at]);
  });
}

// Paper shows the code that is unfolded.
function unfoldAll(button) {
  const folded = document.querySelectorAll(".exhibit");
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    for (const exhibit of folded) exhibit.open = open;
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Fold all the code" : "Unfold all the code";
  });
  button.hidden = false;
}

switchThemes(document.getElementById("theme"));
const rungs = document.getElementById("rungs");
if (rungs) {
  makeSortable(rungs);
  makeFilterable(rungs, document.getElementById("filter"), document.getElementById("shown"));
}
showTips();
const unfold = document.getElementById("unfold");
if (unfold) unfoldAll(unfold);
