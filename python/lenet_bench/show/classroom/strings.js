// What a person reads, in one place, so that it can be translated.

export const strings = {
  prepare: {
    noInk: "shows no ink; a picture of one digit was expected",
    views: {
      brightness: "brightness",
      red: "red",
      green: "green",
      blue: "blue",
      redLessGreen: "red less green",
      redLessBlue: "red less blue",
      greenLessBlue: "green less blue",
    },
    turned: "{view}, turned over: the ink is light",
    untouched: "already in MNIST's own format",
    sheet: "the sheet of paper, cut out of the darker table",
    margin: "room made around a digit that fills its picture",
    zoomWhole: "the whole picture: the digit fills it",
    zoom: "columns {x0} to {x1} and rows {y0} to {y1}, where the digit is",
    light: "the paper's shading divided out: ink on black",
    ink: "what stands out from the paper and its noise",
    digit: "the strokes that belong together; specks and edges out",
    scale: "fitted into 20x20, strokes as wide as a pen's",
    centre: "the centre of mass in the middle of 28x28",
  },
  engine: {
    weights: "the weights are not those of this network",
    image: "expected 28x28 numbers from 0 to 1",
  },
};

/** The text with each {name} filled in. */
export function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
