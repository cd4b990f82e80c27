// Lets the reader filter and sort the machines, choose backends, and read times or ratios.
const table = $("machines");
const about = Number(table.dataset.about); // columns of the machine itself
const best = Number(table.dataset.best); // columns of backends; other variants come behind them
const heads = [...table.tHead.rows[0].cells].slice(about);
const names = heads.map((head) => head.textContent);
const rows = [...table.tBodies[0].rows].map((row) => {
  const cells = [...row.cells];
  const texts = cells.slice(about).map((cell) => cell.textContent.trim());
  return {
    row,
    about: cells.slice(0, about).map((cell) => cell.textContent.trim()),
    cells: cells.slice(about),
    us: texts.map(parseFloat),
    few: texts.map((text) => (text.endsWith("*") ? "*" : "")),
  };
});

// Three digits, as everywhere.
function spell(us) {
  if (us < 0.9995) return `${(us * 1e3).toPrecision(3)} ns`;
  if (us < 999.5) return `${us.toPrecision(3)} µs`;
  return us < 999500 ? `${(us / 1e3).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
}

function spellRatio(ratio) {
  if (ratio >= 0.1 && ratio < 10) return ratio.toFixed(2);
  return ratio < 999.5 ? ratio.toPrecision(3) : Math.round(ratio).toLocaleString("en");
}

const spelt = new Set(); // columns that hold what is chosen; hidden ones wait until they are seen

const value = (one, column) => one.us[column] / ($("unit").value === "" ? 1 : one.us[$("unit").value]);

function spellColumns() {
  const [seen, ratios] = [table.classList.contains("every") ? heads.length : best, $("unit").value];
  for (let column = 0; column < seen; column++) {
    if (heads[column].hidden || spelt.has(column)) continue;
    spelt.add(column);
    for (const one of rows) {
      const found = value(one, column);
      const text = ratios === "" ? spell(found) : spellRatio(found);
      one.cells[column].textContent = isNaN(found) ? "-" : text + one.few[column];
    }
  }
}

function showUnits() {
  const to = $("unit").value;
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort"); // of the other unit
  spelt.clear();
  spellColumns();
  const unit = to === "" ? "Median time of one image" : `Median, divided by ${names[to]}'s there`;
  table.caption.textContent = `${unit}; click a title to sort`;
}

function showRows() {
  const wanted = all("[data-column]").map((select) => [select.dataset.column, select.value]);
  let shown = 0;
  for (const one of rows) {
    one.row.hidden = wanted.some(([column, value]) => value && one.about[column] !== value);
    shown += !one.row.hidden;
  }
  $("shown").textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
}

function showColumns() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  table.classList.toggle("every", $("variants").checked);
  heads.forEach((head, column) => {
    const hidden = words.length > 0 && !words.some((word) => names[column].includes(word));
    if (head.hidden === hidden) return;
    head.hidden = hidden;
    for (const one of rows) one.cells[column].hidden = hidden;
  });
  spellColumns();
}

// A row's cell as it is sorted.
const records = new Map(rows.map((one) => [one.row, one]));
function sortedBy(row, column) {
  const one = records.get(row);
  if (column < about) return one.about[column] === "-" ? "" : one.about[column];
  const found = value(one, column - about);
  return isNaN(found) ? "" : found;
}

switchThemes($("theme"));
showUnits();
makeSortable(table, sortedBy);
$("controls").hidden = false;
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("controls").addEventListener("input", (event) => {
  if (event.target.id === "unit") showUnits();
  else if (event.target.dataset.column) showRows();
  else showColumns();
});
document.documentElement.dataset.drawn = "";
