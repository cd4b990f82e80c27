// Draws the figures with Vega and lets the reader filter, sort, compare and choose a theme.
const data = JSON.parse($("data").textContent);
const margins = {}; // of a figure: what stands beside its marks, as wide as it was last

// Vega is compressed in the page; its hash is in the page's policy.
async function loadVega() {
  const bytes = Uint8Array.from(atob($("vega").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

// A figure is as wide as its box, or as paper; its text grows with the page's.
async function draw(box, rows, paper = false) {
  const key = box.dataset.figure;
  box.hidden = (ownOf(data.specs[key])?.values.filter(asked()) ?? rows).length === 0;
  if (box.hidden) return;
  const text = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const wide = paper ? 860 : box.clientWidth / text;
  for (let tries = 0; tries < 2; tries++) {
    const inner = Math.max(60, wide - (margins[key] ?? (key in data.taken ? 60 : 260)));
    const drawn = document.createElement("div");
    const { view } = await vegaEmbed(drawn, specification(key, rows, inner, wide < 600), {
      mode: "vega", renderer: "svg", ast: true, actions: false, tooltip: false, defaultStyle: false,
    });
    box.replaceChildren(drawn);
    view.addEventListener("click", (_event, item) => pick(box, item?.datum?.name));
    const svg = drawn.querySelector("svg");
    const whole = svg.viewBox.baseVal.width;
    svg.style.maxWidth = `${whole * text}px`;
    margins[key] = whole - inner;
    if (Math.abs(whole - wide) < wide / 20) return;
  }
}

function specification(key, rows, inner, narrow) {
  const spec = structuredClone(data.specs[key]);
  const signals = { narrow, everyVariant: $("variants").checked };
  if (key in data.taken) Object.assign(signals, axisOf(data.taken[key]));
  spec.width = inner;
  for (const signal of spec.signals) {
    if (signal.name in signals) Object.assign(signal, { value: signals[signal.name] });
  }
  for (const source of spec.data) {
    if (source.name === "rows") source.values = structuredClone(rows);
  }
  const own = ownOf(spec);
  if (own) own.values = own.values.filter(asked());
  return spec;
}

// A figure's rows where it has its own, as that of several callers.
const ownOf = (spec) => spec.data.find(({ name, values }) => name !== "rows" && values?.[0]?.name && values[0].family);

// Whether the reader asked for a row of this name and family.
const asked = () => {
  const families = new Set(all("[name=family]:checked").map((box) => box.value));
  const words = $("filter").value.toLowerCase().split(/\s+/);
  return ({ name, family }) => {
    const text = `${name} ${family}`.toLowerCase();
    return families.has(family) && words.every((word) => text.includes(word));
  };
};
const chosen = () => data.rows.filter(asked());

async function drawEach(boxes, paper) {
  const rows = chosen();
  for (const box of boxes) {
    const taken = takenOf(box);
    const shown = box.dataset.figure === "hero" ? data.story : rows;
    await draw(box, taken ? barsOf(taken) : shown, paper);
  }
}

let waiting = Promise.resolve(); // one drawing at a time
const redraw = (paper, boxes = all("[data-figure]")) =>
  (waiting = waiting.then(() => drawEach(boxes, paper)));

function filter() {
  const isAsked = asked();
  const names = [new Set(), new Set()]; // hidden, shown
  for (const row of all("tr[data-name]")) {
    row.hidden = !isAsked(row.dataset);
    names[Number(!row.hidden)].add(row.dataset.name);
  }
  const [hidden, shown] = names.map((one) => one.size);
  $("shown").textContent = hidden ? `${shown} of ${hidden + shown}` : "";
  redraw();
}

// A mark says its numbers to a pointer, a finger and the arrow keys, as text.
const tip = document.createElement("div");
const MARK = "path[role='graphics-symbol'][aria-label]"; // axes have the role too

function say(mark) {
  all(".here").forEach((other) => other.classList.remove("here"));
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.getAttribute("aria-label");
  const [box, own] = [mark.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = box.left + box.width / 2 - own.width / 2;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - own.width - 8))}px`;
  tip.style.top = `${box.top - own.height - 8 > 0 ? box.top - own.height - 8 : box.bottom + 8}px`;
  mark.classList.add("here");
}

function stepThrough(box) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  let at = -1;
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  const also = takenOf(box) ? ", Enter picks a bar" : "";
  box.setAttribute("aria-label", `Figure: the arrow keys read its marks${also}`);
  box.addEventListener("blur", () => say(null));
  box.addEventListener("keydown", (event) => {
    const marks = all(MARK, box);
    if (event.key === "Escape") say(null);
    if (event.key === "Enter" && marks[at]) pick(box, barOf(marks[at]));
    if (!(event.key in by) || !marks.length) return;
    event.preventDefault();
    const [from, step] = [marks[at], by[event.key]];
    do at += step;
    while (/Up|Down/.test(event.key) && takenOf(box) && from && barOf(marks[at]) === barOf(from));
    at = Math.max(0, Math.min(at, marks.length - 1));
    marks[at].scrollIntoView({ block: "nearest" });
    say(marks[at]);
  });
}

function showTips() {
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "status");
  document.body.append(tip);
  document.addEventListener("pointerover", (event) => say(event.target.closest?.(MARK)));
}

// Two implementations: each pane shows the code that its choice is written in, with its numbers.
function showCode(select, first) {
  const written = new Map();
  for (const one of all(".implementation")) {
    for (const name of one.dataset.names.split(" ")) written.set(name, one);
  }
  for (const row of data.rows) {
    if (!written.has(row.name)) continue;
    select.append(new Option(row.name, row.name, false, row.name === first));
  }
  const show = () => {
    const one = written.get(select.value);
    const row = data.rows.find((one) => one.name === select.value);
    const pane = select.closest(".pane");
    const lines = row.lines_of_code && `${row.lines_of_code} lines`;
    pane.querySelector(".numbers").textContent = [row.time, lines].filter(Boolean).join(", ");
    const files = all("a[href^='#file-']", one).map((link) => {
      const copy = $(link.hash.slice(1)).cloneNode(true);
      copy.removeAttribute("id");
      return copy;
    });
    const about = all(":scope > p:not(:last-of-type)", one).map((p) => p.cloneNode(true));
    pane.querySelector(".written").replaceChildren(...about, ...files);
  };
  select.addEventListener("change", show);
  if (select.options.length) show();
}

async function start() {
  switchThemes($("theme"));
  all("table.sortable").forEach((table) => makeSortable(table));
  showTips();
  const names = data.rows.map((row) => row.name);
  const prefer = (...wanted) => wanted.find((name) => names.includes(name));
  if ($("panes")) {
    showCode($("left"), prefer("onednn", "numpy") ?? names[0]);
    showCode($("right"), prefer("keras:predict_on_batch", "keras") ?? names.at(-1));
    $("panes").hidden = false;
  }
  all("[data-figure]").filter(takenOf).forEach(takeApart);
  await loadVega();
  all("[data-figure]").forEach(stepThrough);
  await redraw();
  $("controls").hidden = false;
  $("controls").addEventListener("input", filter);
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  let last = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== last) redraw();
    last = innerWidth;
  });
  addEventListener("beforeprint", () => redraw(true));
  addEventListener("afterprint", () => redraw());
  document.documentElement.dataset.drawn = "";
}
