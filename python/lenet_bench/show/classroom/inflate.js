// What `zlib.compress` packed, for browsers without DecompressionStream: RFC 1950 and 1951.

const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const [END, LONGEST] = [256, 15];

/** The bytes that were packed. */
export function inflate(packed) {
  const out = [];
  let at = 16; // bits: after zlib's header
  const bits = (count) => {
    let value = 0;
    for (let n = 0; n < count; n++, at++) value |= ((packed[at >> 3] >> (at & 7)) & 1) << n;
    return value;
  };
  const symbol = ({ counts, symbols }) => {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length <= LONGEST; length++) {
      code |= bits(1);
      if (code - first < counts[length]) return symbols[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error("the data of this page is damaged");
  };
  const copied = () => {
    at = (at + 7) & ~7;
    const count = bits(16);
    at += 16; // the count again, inverted
    for (let n = 0; n < count; n++) out.push(bits(8));
  };
  const dynamic = () => {
    const [literals, distances, given] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const lengths = new Array(ORDER.length).fill(0);
    for (let n = 0; n < given; n++) lengths[ORDER[n]] = bits(3);
    const code = huffman(lengths);
    const all = [];
    while (all.length < literals + distances) {
      const next = symbol(code);
      if (next < 16) all.push(next);
      else {
        const [repeated, extra, least] = [[all.at(-1), 2, 3], [0, 3, 3], [0, 7, 11]][next - 16];
        for (let n = bits(extra) + least; n > 0; n--) all.push(repeated);
      }
    }
    return [huffman(all.slice(0, literals)), huffman(all.slice(literals))];
  };
  const coded = ([literals, distances]) => {
    for (let next = symbol(literals); next !== END; next = symbol(literals)) {
      if (next < END) out.push(next);
      else {
        const number = next - END - 1;
        const length = LENGTHS[number] + bits(number < 8 || number === 28 ? 0 : (number >> 2) - 1);
        const which = symbol(distances);
        const back = DISTANCES[which] + bits(which < 4 ? 0 : (which >> 1) - 1);
        for (let n = 0; n < length; n++) out.push(out[out.length - back]);
      }
    }
  };
  for (let last = 0; !last; ) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) copied();
    else coded(kind === 1 ? fixed() : dynamic());
  }
  return Uint8Array.from(out);
}

/** A canonical Huffman code from the lengths of its symbols. */
function huffman(lengths) {
  const counts = new Array(LONGEST + 1).fill(0);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  const symbols = [...lengths.keys()].filter((n) => lengths[n]).sort((a, b) => lengths[a] - lengths[b] || a - b);
  return { counts, symbols };
}

function fixed() {
  const of = (count, length) => new Array(count).fill(length);
  return [huffman([...of(144, 8), ...of(112, 9), ...of(24, 7), ...of(8, 8)]), huffman(of(30, 5))];
}
