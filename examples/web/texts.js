// Numbers and names of GPUs as people read them.

const SOFTWARE = /swiftshader|llvmpipe|lavapipe|softpipe|software|basic render/i; // in names of renderers

/** Return a time, given in milliseconds: "4.2 ms", "118 ms" or "11.2 s". */
export function timeText(milliseconds) {
  if (milliseconds >= 9999.5) return `${(milliseconds / 1000).toFixed(1)} s`;
  if (milliseconds >= 999.5) return `${(milliseconds / 1000).toFixed(2)} s`;
  return `${milliseconds.toFixed(milliseconds < 99.95 ? 1 : 0)} ms`;
}

/** Return a place in a video, given in seconds: "1:07". */
export function clockText(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Return a number of operations: "756 M" or "none". */
export function amountText(number) {
  if (!number) return "none";
  const [value, unit] = number >= 1e9 ? [number / 1e9, " G"] : [number / 1e6, " M"];
  return (value >= 1000 ? Math.round(value) : value.toPrecision(3)) + unit;
}

/**
 * Return a renderer's name; of one that computes on the CPU, it says so.
 *
 * ANGLE, which most browsers use, gives "ANGLE (vendor, name, driver)": the text has the name, without what
 * ANGLE draws with and without numbers of devices.
 */
export function rendererText(name) {
  const [, device = name] = name.match(/^ANGLE \([^,]+, (.+), [^,]+\)$/) ?? [];
  const short = device
    .replace(/ \(0x[0-9a-f]+\)/gi, "")
    .replace(/^ANGLE Metal Renderer: | Direct3D.*$/g, "")
    .replace(/^Vulkan [\d.]+ \((.+)\)$/, "$1");
  return SOFTWARE.test(name) ? `${short} (software rendering on the CPU: a GPU is much faster)` : short;
}
