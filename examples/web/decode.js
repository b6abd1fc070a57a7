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
  if (inX === w && inY === h && picture instanceof ImageBitmap) {
    return createImageBitmap(picture, x, y, w, h, { premultiplyAlpha: "none" });
  }
  const canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, x, y, inX, inY, 0, 0, inX, inY);
  if (inX < w) context.drawImage(picture, width - 1, y, 1, inY, inX, 0, w - inX, inY);
  if (inY < h) context.drawImage(canvas, 0, inY - 1, w, 1, 0, inY, w, h - inY);
  return canvas;
}
