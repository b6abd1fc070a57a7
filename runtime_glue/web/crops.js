// Parts of pictures. Colours are kept as they are below transparent pixels.

import { ACCELERATION, makeCanvas } from "./device.js";
import { ShadergenError } from "./errors.js";
import { sizeOf } from "./pixels.js";

const AS_STORED = { premultiplyAlpha: "none", colorSpaceConversion: "none" };

/** Whether a picture is a canvas, a video or a frame of one, which browsers copy fastest to a 2D canvas. */
const isDrawn = (picture) => picture.getContext || picture.videoWidth || picture.displayWidth;

/** Return a part of a picture of w x h pixels; where it lies beyond the picture, the edge goes on. */
export async function crop(picture, x, y, w, h) {
  const [width, height] = sizeOf(picture);
  if (x === 0 && y === 0 && w === width && h === height) return picture;
  const [inX, inY] = [Math.min(w, width - x), Math.min(h, height - y)];
  if (!isDrawn(picture)) {
    const inside = await createImageBitmap(picture, x, y, inX, inY, AS_STORED);
    return inX === w && inY === h ? inside : extended(inside, w, h);
  }
  const canvas = Object.assign(makeCanvas(), { width: w, height: h });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, x, y, inX, inY, 0, 0, inX, inY);
  if (inX < w) context.drawImage(picture, width - 1, y, 1, inY, inX, 0, w - inX, inY);
  if (inY < h) context.drawImage(canvas, 0, inY - 1, w, 1, 0, inY, w, h - inY);
  return canvas;
}

/** Return a picture with its last column and row repeated up to w x h. */
function extended(picture, w, h) {
  const { width, height } = picture;
  const bytes = bytesOfBitmap(picture);
  picture.close();
  const image = new ImageData(w, h);
  for (let y = 0; y < h; y++) {
    const row = 4 * width * Math.min(y, height - 1);
    image.data.set(bytes.subarray(row, row + 4 * width), 4 * w * y);
    const last = bytes.subarray(row + 4 * width - 4, row + 4 * width);
    for (let x = width; x < w; x++) image.data.set(last, 4 * (w * y + x));
  }
  return createImageBitmap(image, AS_STORED);
}

let gl = null;

/**
 * Return the bytes of an ImageBitmap that was made with premultiplyAlpha "none". WebGL reads them: a 2D
 * canvas forgets colours of transparent pixels.
 */
export function bytesOfBitmap(picture) {
  const { width, height } = picture;
  if (!gl || gl.isContextLost()) gl = makeCanvas().getContext("webgl2");
  if (!gl) {
    throw new ShadergenError("SG0601", "this browser offers no WebGL 2, which reads the picture's edge", {
      help: ACCELERATION,
    });
  }
  const [texture, framebuffer] = [gl.createTexture(), gl.createFramebuffer()];
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, picture);
  gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const bytes = new Uint8Array(4 * width * height);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  gl.deleteFramebuffer(framebuffer);
  gl.deleteTexture(texture);
  return bytes;
}
