// Calls taken apart: the reader chooses two bars, whose difference is described.
const takenOf = (box) => data.taken[box.dataset.figure];
const barOf = (mark) => mark?.__data__.datum.name; // what Vega binds to what it draws

// The bars of each family, and those that were picked.
const barsOf = (taken) => taken.rows.filter((row) => row.shown || taken.picked.includes(row.name));

function axisOf(taken) {
  return { ...taken.ends, one: taken.picked[0], other: taken.picked[1] };
}

function tell(taken) {
  const [quicker, slower] = taken.picked
    .map((name) => taken.names.indexOf(name))
    .sort((one, other) => one - other);
  taken.selects.forEach((select, n) => (select.value = taken.picked[n]));
  taken.said.textContent = taken.sentences[slower][quicker];
}

function pick(box, name) {
  const taken = takenOf(box);
  if (!taken?.names.includes(name) || taken.picked[1] === name) return;
  taken.picked = [taken.picked[1], name];
  tell(taken);
  redraw(false, [box]);
}

function takeApart(box) {
  const taken = takenOf(box);
  const figure = box.closest("figure");
  const form = figure.querySelector("form");
  taken.picked = [taken.names[0], taken.names.at(-1)];
  taken.said = figure.querySelector(".difference");
  taken.selects = all("select", form);
  taken.selects.forEach((select, n) => {
    select.append(...taken.names.map((name) => new Option(name)));
    select.addEventListener("change", () => {
      taken.picked[n] = select.value;
      tell(taken);
      redraw(false, [box]);
    });
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  tell(taken);
  form.hidden = false;
}

start();
