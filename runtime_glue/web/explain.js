// Messages of shader compilers, shown with the source lines.

const CONTEXT_LINES = 3;
const MAX_LOG_LINES = 100;

/** Return the compiler's messages, each below the numbered source lines that it names. */
export function interleave(log, source) {
  const lines = source.split("\n");
  const shown = [];
  const loose = [];
  let last = 0;
  const said = log.replaceAll("\0", "").split("\n").slice(0, MAX_LOG_LINES);
  const at = (line) => Number(/^\s*(?:[A-Za-z]+:\s*)?\d+(?::|\()(\d+)/.exec(line)?.[1] ?? 0);
  for (const line of said.sort((a, b) => at(a) - at(b))) {
    const number = at(line);
    if (number < 1 || number > lines.length) {
      if (line.trim()) loose.push(line.trim());
      continue;
    }
    for (let n = Math.max(last + 1, number - CONTEXT_LINES); n <= number; n++) {
      shown.push(`${`${n}`.padStart(4)} | ${lines[n - 1]}`);
    }
    shown.push(`     ^ ${line.trim()}`);
    last = number;
  }
  return [...shown, ...loose].join("\n");
}
