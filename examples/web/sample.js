// A picture to begin with, drawn here so that none has to be fetched, and noise for pictures.

const [WIDTH, HEIGHT] = [640, 360];
const NOISE = 15; // standard deviation, of 255

/** Return a canvas with edges, lines, text and smooth colour. */
export function sample() {
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });
  const c = canvas.getContext("2d");
  const sky = c.createLinearGradient(0, 0, 0, HEIGHT);
  for (const [at, colour] of [[0, "#1f3b73"], [0.55, "#e88a5b"], [0.62, "#f7d9a0"]]) {
    sky.addColorStop(at, colour);
  }
  c.fillStyle = sky;
  c.fillRect(0, 0, WIDTH, HEIGHT);
  c.fillStyle = "#fff3cf";
  c.beginPath();
  c.arc(455, 170, 38, 0, 7);
  c.fill();
  ["#5b5a86", "#3c4470", "#232b52"].forEach((colour, i) => hills(c, colour, 190 + 38 * i, i));
  c.fillStyle = "#10162f";
  c.fillRect(0, 300, WIDTH, 60);
  fence(c);
  c.fillStyle = "#f4f4f4";
  c.font = "600 34px Georgia, serif";
  c.fillText("Drop a picture or a video", 28, 58);
  c.font = "15px Georgia, serif";
  c.fillText("or start the webcam: nothing leaves this page", 30, 84);
  return canvas;
}

/** Return a copy of the bytes of a picture, RGBA, with noise in its colours, for networks that remove it. */
export function noisy(bytes) {
  const all = new Uint8ClampedArray(bytes); // which rounds, and clamps to 0 and 255
  for (let i = 0; i < all.length; i++) {
    if (i % 4 < 3) all[i] += NORMALS[(Math.random() * NORMALS.length) | 0];
  }
  return all;
}

/** Random numbers of a normal distribution, by Box and Muller. */
const NORMALS = Float32Array.from({ length: 1 << 16 }, () => {
  return NOISE * Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
});

function hills(c, colour, level, i) {
  c.fillStyle = colour;
  c.beginPath();
  c.moveTo(0, HEIGHT);
  for (let x = 0; x <= WIDTH; x += 4) {
    const wave = Math.sin(x / (70 - 12 * i) + 2 * i) + 0.6 * Math.sin(x / (31 + 9 * i) + i);
    c.lineTo(x, level - 22 * wave);
  }
  c.lineTo(WIDTH, HEIGHT);
  c.fill();
}

function fence(c) {
  c.strokeStyle = "#c9b8a0";
  c.lineWidth = 1.5;
  c.beginPath();
  for (let x = 8; x < WIDTH; x += 14) {
    c.moveTo(x, 350);
    c.lineTo(x + 5, 292);
  }
  for (const y of [306, 326]) {
    c.moveTo(0, y);
    c.lineTo(WIDTH, y - 4);
  }
  c.stroke();
}
