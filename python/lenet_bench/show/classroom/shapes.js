// How each layer is drawn; the same wherever it appears.

/** Where a layer's numbers stand in its picture: maps of side x side, so many in a row. */
export const SHAPES = {
  image: { columns: 1, side: 28, stages: "load" },
  pool1: { columns: 5, side: 12, stages: "conv1,pool1" },
  pool2: { columns: 10, side: 4, stages: "conv2,pool2" },
  fc1: { columns: 40, side: 1, stages: "fc1" },
};
/** How many numbers each has, and the ten outputs. */
export const COUNTS = { image: 28 * 28, pool1: 20 * 12 * 12, pool2: 50 * 4 * 4, fc1: 500, fc2: 10 };
/** The side of a convolution's window. */
export const KERNEL = 5;

const pitch = (side) => (side > 1 ? side + 1 : 1); // a pixel between the maps

/** The number of the value at a point of the layer's picture; null beyond the last one. */
export function under(layer, x, y) {
  const { columns, side } = SHAPES[layer];
  const apart = pitch(side);
  const [column, row] = [Math.floor(x / apart), Math.floor(y / apart)];
  if (column >= columns) return null;
  const [dx, dy] = [x, y].map((way) => Math.min(way % apart, side - 1)); // a gap belongs to what is before it
  const index = ((row * columns + column) * side + dy) * side + dx;
  return index < COUNTS[layer] ? index : null;
}

/** A value's number, and its map, row and column. */
export function cell(layer, index) {
  const { side } = SHAPES[layer];
  const inside = index % (side * side);
  return { index, map: Math.floor(index / (side * side)), y: Math.floor(inside / side), x: inside % side };
}

/** The box [x, y, width, height] of the layer's picture that begins at a place of a map. */
export function box(layer, map, y, x, size = 1) {
  const { columns, side } = SHAPES[layer];
  const apart = pitch(side);
  return [(map % columns) * apart + x, Math.floor(map / columns) * apart + y, size, size];
}
