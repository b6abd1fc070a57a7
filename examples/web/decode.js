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
