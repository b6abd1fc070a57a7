// Files to pictures and videos. Pictures are upright, as their EXIF orientation says, and alpha is kept
// apart from colours.

/** Return an ImageBitmap or a playing video of a file; throws what to tell the person who chose it. */
export async function decode(file) {
  const refusal = (why) => Error(`${file.name} is no picture or video that this browser can show${why}`);
  if (file.type.startsWith("video/")) {
    const video = Object.assign(document.createElement("video"), { src: URL.createObjectURL(file) });
    return play(video).catch(() => {
      throw refusal("");
    });
  }
  if (!file.size) throw refusal(": it is empty");
  return createImageBitmap(file, { imageOrientation: "from-image", premultiplyAlpha: "none" }).catch(() => {
    throw refusal("");
  });
}

/** Start a video, without sound and again and again; return it. */
export async function play(video) {
  Object.assign(video, { muted: true, loop: true, playsInline: true });
  await video.play();
  return video;
}

/** Return the width and height of a picture, video or canvas. */
export function sizeOf(thing) {
  return [thing.videoWidth ?? thing.width, thing.videoHeight ?? thing.height];
}

/** Return a part of a picture of w x h pixels; where it lies beyond the picture, the edge goes on. */
export async function part(picture, x, y, w, h) {
  const [width, height] = sizeOf(picture);
  if (x === 0 && y === 0 && w === width && h === height) return picture;
  const [inX, inY] = [Math.min(w, width - x), Math.min(h, height - y)];
  if (picture instanceof ImageBitmap) {
    const inside = await createImageBitmap(picture, x, y, inX, inY, { premultiplyAlpha: "none" });
    return inX === w && inY === h ? inside : extended(inside, w, h);
  }
  const canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, x, y, inX, inY, 0, 0, inX, inY);
  if (inX < w) context.drawImage(picture, width - 1, y, 1, inY, inX, 0, w - inX, inY);
  if (inY < h) context.drawImage(canvas, 0, inY - 1, w, 1, 0, inY, w, h - inY);
  return canvas;
}

/** Return a picture of another size, its colours not multiplied by alpha. */
export function scaled(picture, [resizeWidth, resizeHeight]) {
  return createImageBitmap(picture, { resizeWidth, resizeHeight, resizeQuality: "high", premultiplyAlpha: "none" });
}

/** Return a picture with its last column and row repeated up to w x h. */
function extended(picture, w, h) {
  const bytes = bytesOf(picture);
  const { width, height } = picture;
  const image = new ImageData(w, h);
  for (let y = 0; y < h; y++) {
    const row = 4 * width * Math.min(y, height - 1);
    image.data.set(bytes.subarray(row, row + 4 * width), 4 * w * y);
    const last = bytes.subarray(row + 4 * width - 4, row + 4 * width);
    for (let x = width; x < w; x++) image.data.set(last, 4 * (w * y + x));
  }
  return createImageBitmap(image, { premultiplyAlpha: "none" });
}

let gl = null;

/** Return the bytes of an ImageBitmap. WebGL reads them: a 2D canvas forgets colours of transparent pixels. */
export function bytesOf(picture) {
  const { width, height } = picture;
  if (!gl || gl.isContextLost()) gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw Error("This browser has no WebGL 2, which reads the pixels at the picture's edge.");
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
