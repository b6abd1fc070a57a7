// Maps: networks whose result says what each pixel is, or how much of something. Colours, and their legend.

import { MAP_RANK } from "./shadergen/pixels.js";

const SLACK = 1e-3; // of numbers that are taken as 0 to 1, for rounding

/** Return how far apart the numbers of a port are along N, C, H and W, in the model's own order. */
function strides({ shape, axes }) {
  const found = Array(MAP_RANK).fill(0);
  let stride = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    found[axes[i] + MAP_RANK - shape.length] = stride;
    stride *= shape[i];
  }
  return found;
}

/** Return the class of each pixel, in rows, of a result of scores or of class numbers. */
export function classesOf(numbers, port, { channels, width, height }, kind) {
  const [, ofChannel, ofRow, ofColumn] = strides(port);
  const found = new Int32Array(width * height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      const at = y * ofRow + x * ofColumn;
      if (kind === "classes") found[i] = Number(numbers[at]);
      else for (let c = 1, best = 0; c < channels; c++) {
        if (numbers[at + c * ofChannel] > numbers[at + best * ofChannel]) found[i] = best = c;
      }
    }
  }
  return found;
}

/**
 * A map of one number as a picture, as `shadergen run` draws it: from 0 (black) to 1 (white); other numbers
 * are scaled, the least to black and the largest to white. The range is known when all tiles are.
 */
export class Greys {
  low = Infinity;
  high = -Infinity;

  constructor(width, height) {
    this.width = width;
    this.numbers = new Float32Array(width * height);
  }

  get isScaled() {
    return this.low < -SLACK || this.high > 1 + SLACK;
  }

  /** Keep the part of a tile's numbers that is used; return the tile as a picture, for now of 0 to 1. */
  add(numbers, port, { width, height }, column, row) {
    const [, , ofRow, ofColumn] = strides(port);
    const image = new ImageData(width, height);
    for (let y = row.inside; y < row.inside + row.size; y++) {
      for (let x = column.inside; x < column.inside + column.size; x++) {
        const number = Number(numbers[y * ofRow + x * ofColumn]);
        this.low = Math.min(this.low, Number.isFinite(number) ? number : Infinity);
        this.high = Math.max(this.high, Number.isFinite(number) ? number : -Infinity);
        this.numbers[(row.start + y - row.inside) * this.width + column.start + x - column.inside] = number;
        paint(image.data, y * width + x, number);
      }
    }
    return image;
  }

  /** Return all numbers as a picture, scaled. */
  scaled() {
    const { low, high, width, numbers } = this;
    const image = new ImageData(width, numbers.length / width);
    numbers.forEach((number, i) => paint(image.data, i, (number - low) / (high - low || 1)));
    return image;
  }
}

/** Make a pixel grey, from 0 (black) to 1 (white); the array clamps and rounds. */
function paint(data, pixel, value) {
  data.fill(255 * value, 4 * pixel, 4 * pixel + 3);
  data[4 * pixel + 3] = 255;
}

/**
 * Return the colour of a class, red, green and blue: those of `shadergen run`.
 *
 * Source: the colour map of the PASCAL VOC challenge, which spreads the bits of the number.
 */
export function colourOf(number) {
  const colour = [0, 0, 0];
  for (let bit = 0; bit < 8; bit++) colour[bit % 3] |= ((number >> bit) & 1) << (7 - Math.floor(bit / 3));
  return colour;
}

/** Return classes as a picture. */
export function painted(classes, width, height) {
  const image = new ImageData(width, height);
  const colours = new Map();
  classes.forEach((number, i) => {
    if (!colours.has(number)) colours.set(number, colourOf(number));
    image.data.set(colours.get(number), 4 * i);
    image.data[4 * i + 3] = 255;
  });
  return image;
}

/** Fill a list with the classes of a picture, the largest first; `names` are those of the classes. */
export function showLegend(list, counts, names = []) {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([number, count]) => {
    const row = document.createElement("li");
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.style.background = `rgb(${colourOf(number)})`;
    const share = (100 * count) / all;
    row.append(mark, `${names[number] ?? `class ${number}`} `, Object.assign(document.createElement("small"), {
      textContent: `${share < 1 ? "under 1" : Math.round(share)} %`,
    }));
    return row;
  });
  list.replaceChildren(...rows);
  list.hidden = !rows.length;
}
