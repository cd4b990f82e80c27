// Lets the reader filter and sort the machines, choose backends, and read times or ratios.
const table = $("machines");
const facts = Number(table.dataset.facts);
const heads = [...table.tHead.rows[0].cells].slice(facts);
const names = heads.map((head) => head.textContent);
const rows = [...table.tBodies[0].rows].map((row) => {
  const cells = [...row.cells];
  const texts = cells.slice(facts).map((cell) => cell.textContent.trim());
  return {
    row,
    facts: cells.slice(0, facts).map((cell) => cell.textContent.trim()),
    cells: cells.slice(facts),
    us: texts.map(parseFloat),
    few: texts.map((text) => (text.endsWith("*") ? "*" : "")),
  };
});

// Three digits, as everywhere.
function digits(value) {
  const places = Math.max(0, 2 - Math.floor(Math.log10(Number(value.toPrecision(3)))));
  return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
}

function spell(us) {
  if (us < 999.5) return `${digits(us)} µs`;
  return us < 999500 ? `${digits(us / 1e3)} ms` : `${digits(us / 1e6)} s`;
}

function showUnits() {
  const to = $("unit").value;
  for (const one of rows) {
    one.us.forEach((us, column) => {
      const value = to === "" ? us : us / one.us[to];
      const cell = one.cells[column];
      cell.textContent = isNaN(value) ? "-" : (to === "" ? spell(value) : digits(value)) + one.few[column];
      cell.dataset.value = isNaN(value) ? "" : value;
    });
  }
  const unit = to === "" ? "Median time of one image" : `Median, divided by ${names[to]}'s there`;
  table.caption.textContent = `${unit}; click a title to sort`;
}

function showRows() {
  const wanted = all("[data-column]").map((select) => [select.dataset.column, select.value]);
  let shown = 0;
  for (const one of rows) {
    one.row.hidden = wanted.some(([column, value]) => value && one.facts[column] !== value);
    shown += !one.row.hidden;
  }
  $("shown").textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
}

function showColumns() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const every = $("variants").checked;
  heads.forEach((head, column) => {
    const named = !words.length || words.some((word) => names[column].includes(word));
    const hidden = !named || !(every || "usual" in head.dataset);
    if (head.hidden === hidden) return;
    head.hidden = hidden;
    for (const one of rows) one.cells[column].hidden = hidden;
  });
}

switchThemes($("theme"));
showUnits();
showColumns();
makeSortable(table);
$("controls").hidden = false;
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("controls").addEventListener("input", (event) => {
  if (event.target.id === "unit") showUnits();
  else if (event.target.dataset.column) showRows();
  else showColumns();
});
document.documentElement.dataset.drawn = "";
