// How each layer is drawn; the same wherever it appears.

/** Where a layer's numbers stand in its picture: maps of side x side, so many in a row. */
export const SHAPES = {
  image: { columns: 1, side: 28 },
  pool1: { columns: 5, side: 12 },
  pool2: { columns: 10, side: 4 },
  fc1: { columns: 40, side: 1 },
};
