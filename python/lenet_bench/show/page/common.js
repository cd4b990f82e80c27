// What the pages have in common: choosing a theme, and sorting tables.
"use strict";

const $ = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function switchThemes(button, spoken = (theme) => `Theme: ${theme}`) {
  const themes = ["auto", "light", "dark"];
  const remembered = (value) => {
    try {
      if (value) localStorage.setItem("lenet-bench-theme", value);
      return localStorage.getItem("lenet-bench-theme");
    } catch {
      return null; // a page from a disk may have no memory
    }
  };
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = spoken(theme);
    button.dataset.now = theme;
  };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.now) + 1) % themes.length];
    remembered(next);
    show(next);
  });
  button.hidden = false;
  show(themes.includes(remembered()) ? remembered() : "auto");
}

// Cells that hold nothing come last, whichever way the rest is sorted.
function sortRows(body, column, direction, value) {
  const key = (row) => value(row, column);
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b, "en", { numeric: true }) : a - b);
  const rows = [...body.rows].sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    return a === "" || b === "" ? (a === "") - (b === "") : direction * compare(a, b);
  });
  body.append(...rows);
}

const said = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;

function makeSortable(table, value = said) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, up ? 1 : -1, value);
    });
    head.replaceChildren(button);
  });
}
