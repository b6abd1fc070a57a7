// Maps: networks whose result says what each pixel is, or how much of something. Colours, and their legend.

import { strides } from "./tensors.js";

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

/** Return a map of one number, from 0 (black) to 1 (white), as a picture. */
export function greys(numbers, port, { width, height }) {
  const [, , ofRow, ofColumn] = strides(port);
  const image = new ImageData(width, height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 4) {
      image.data.fill(255 * Number(numbers[y * ofRow + x * ofColumn]), i, i + 3); // it clamps and rounds
      image.data[i + 3] = 255;
    }
  }
  return image;
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
