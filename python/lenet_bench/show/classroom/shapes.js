// How each layer is drawn; the same wherever it appears.

/** Where a layer's numbers stand in its picture: maps of side x side, so many in a row. */
export const SHAPES = {
  image: { columns: 1, side: 28, stages: "load" },
  pool1: { columns: 5, side: 12, stages: "conv1,pool1" },
  pool2: { columns: 10, side: 4, stages: "conv2,pool2" },
  fc1: { columns: 40, side: 1, stages: "fc1" },
};
