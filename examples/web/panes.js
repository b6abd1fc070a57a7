// Shows two pictures in one place, before and after, at one zoom: a line between them, or side by side.
//
// Both lie in one space of pixels, as large as the larger of them. A pane shows a part of this space:
// `scale` CSS pixels for each of its pixels, its corner at `x`, `y` of the pane.

const PIXELS_SHOWN = 4; // device pixels for each of the picture's, from which on they are seen as squares
const LARGEST = 32; // the same, at most
const STEP = 1.25; // of the zoom
const NEAR = 28; // CSS pixels from the line, within which it is taken
const RATIOS = [0.4, 3.2]; // of a pane's width to its height, at most

const MARKUP = `
<div class="panes" role="group" tabindex="0" aria-label="Picture before and after. Plus and minus zoom,
  arrow keys move, 0 shows all, 1 shows every pixel.">
  <div class="pane"><canvas class="before" role="img" aria-label="Before"></canvas><span class="tag">before</span></div>
  <div class="pane"><canvas class="after" role="img" aria-label="After"></canvas><span class="tag">after</span></div>
  <div class="line" role="slider" tabindex="0" aria-label="Line between before and after"
    aria-valuemin="0" aria-valuemax="100"></div>
</div>
<div class="tools" role="toolbar" aria-label="View">
  <span class="zoom"><button type="button" name="out" aria-label="Zoom out" title="Zoom out (minus)">&minus;</button>
  <output aria-label="Zoom">100 %</output>
  <button type="button" name="in" aria-label="Zoom in" title="Zoom in (plus)">+</button></span>
  <button type="button" name="fit" title="Show the whole picture (0)">Fit</button>
  <button type="button" name="one" title="Show each pixel of the picture as one pixel of the screen (1)">1:1</button>
  <button type="button" name="sides" aria-pressed="false" title="Show before and after beside each other (S)">Side by side</button>
  <button type="button" name="save" title="Save the result as PNG, at its full size" disabled>Save PNG</button>
</div>`;

export class Panes {
  #size = [16, 9]; // of the space
  #at = { scale: 1, x: 0, y: 0 };
  #isFitted = true;
  #pointers = new Map();
  #drags = ""; // what the pointer that is down moves: "line" or "picture"

  /**
   * Fill an element. `wheel` zooms without the control key. `name()` is the saved file's, without its
   * ending; `fail(error)` shows what went wrong.
   */
  constructor(element, { wheel = false, name = () => "result", fail = () => {} } = {}) {
    Object.assign(this, { element, wheel, name, fail });
    element.classList.add("view");
    element.insertAdjacentHTML("afterbegin", MARKUP);
    const find = (selector) => element.querySelector(selector);
    this.panes = find(".panes");
    this.before = find(".before");
    this.after = find(".after");
    this.line = find(".line");
    this.level = find("output");
    this.buttons = Object.fromEntries([...element.querySelectorAll(".tools button")].map((b) => [b.name, b]));
    this.#listen();
    this.position = 50;
    new ResizeObserver(() => this.#place()).observe(this.panes);
  }

  /** Give both pictures a space; both canvases cover it, whatever their own sizes. */
  resize(width, height) {
    if (`${this.#size}` === `${[width, height]}`) return;
    this.#size = [width, height];
    this.element.style.setProperty("--ratio", clamp(width / height, ...RATIOS));
    this.fit();
  }

  /** Whether the result covers the picture, "picture", or is seen on it: "map", "classes" or "scores". */
  set kind(kind) {
    this.element.dataset.kind = kind;
  }

  /** Whether there is no result yet: then the picture alone is seen. */
  set isWaiting(value) {
    this.element.classList.toggle("waiting", value);
  }

  /** The line's place, in percent from the left. */
  get position() {
    return Number(this.line.getAttribute("aria-valuenow"));
  }

  set position(percent) {
    const at = clamp(percent, 0, 100);
    this.line.setAttribute("aria-valuenow", Math.round(at * 10) / 10);
    this.line.setAttribute("aria-valuetext", `${Math.round(at)} % before`);
    this.panes.style.setProperty("--at", `${at}%`);
  }

  get isSideBySide() {
    return this.buttons.sides.getAttribute("aria-pressed") === "true";
  }

  set isSideBySide(value) {
    this.buttons.sides.setAttribute("aria-pressed", value);
    this.element.classList.toggle("sides", value);
    this.line.hidden = value;
    this.#place();
  }

  /** Show everything. */
  fit() {
    this.#isFitted = true;
    this.#place();
  }

  /** Show so many device pixels for each pixel, keeping a place of the pane where it is. */
  zoom(level, [x, y] = this.#box().map((side) => side / 2)) {
    const before = this.#at;
    const [fitted, dpr] = [this.#fitted(), devicePixelRatio];
    const scale = clamp(level / dpr, Math.min(fitted, 1 / dpr), Math.max(fitted, LARGEST / dpr));
    const grown = scale / before.scale;
    this.#isFitted = false;
    this.#at = { scale, x: x - (x - before.x) * grown, y: y - (y - before.y) * grown };
    this.#place();
  }

  /** Save the result as a file, every pixel of it. */
  async save() {
    const blob = await new Promise((done) => this.after.toBlob(done, "image/png"));
    if (!blob) return this.fail(Error("this browser cannot write a PNG of this size"));
    const url = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: url, download: `${this.name()}.png` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  get #level() {
    return this.#at.scale * devicePixelRatio;
  }

  #box() {
    const { width, height } = this.before.parentElement.getBoundingClientRect();
    return [width, height];
  }

  #fitted() {
    return Math.min(...this.#box().map((side, axis) => side / this.#size[axis]));
  }

  /** Lay out both canvases; a picture smaller than its pane is in the middle, a larger one fills it. */
  #place() {
    const box = this.#box();
    if (!box[0]) return;
    if (this.#isFitted) this.#at.scale = this.#fitted();
    const { scale } = this.#at;
    for (const [axis, name] of ["x", "y"].entries()) {
      const room = box[axis] - this.#size[axis] * scale;
      this.#at[name] = room >= 0 ? room / 2 : clamp(this.#at[name], room, 0);
    }
    const { x, y } = this.#at;
    for (const canvas of [this.before, this.after]) {
      const [width, height] = this.#size.map((side, axis) => {
        const isRounding = Math.abs(box[axis] - side * scale) < 1; // of the layout, which would leave a sliver
        return isRounding ? box[axis] : side * scale;
      });
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, transform: `translate(${x}px, ${y}px)` });
      canvas.classList.toggle("pixels", this.#level >= PIXELS_SHOWN);
    }
    this.panes.classList.toggle("zoomed", scale > this.#fitted() * 1.001);
    this.buttons.fit.disabled = this.#isFitted;
    this.level.textContent = `${+(this.#level * 100).toPrecision(3)} %`;
  }

  #move(dx, dy) {
    this.#at.x += dx;
    this.#at.y += dy;
    this.#place();
  }

  #listen() {
    const { panes, line, buttons } = this;
    buttons.out.onclick = () => this.zoom(this.#level / STEP);
    buttons.in.onclick = () => this.zoom(this.#level * STEP);
    buttons.fit.onclick = () => this.fit();
    buttons.one.onclick = () => this.zoom(1);
    buttons.sides.onclick = () => (this.isSideBySide = !this.isSideBySide);
    buttons.save.onclick = () => this.save();
    panes.addEventListener("keydown", (event) => this.#onKey(event));
    panes.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
    panes.addEventListener("pointerdown", (event) => this.#onDown(event));
    panes.addEventListener("pointermove", (event) => this.#onMove(event));
    for (const end of ["pointerup", "pointercancel"]) {
      panes.addEventListener(end, (event) => this.#pointers.delete(event.pointerId));
    }
    panes.addEventListener("dblclick", (event) => {
      if (event.target === line) return;
      const isFitted = this.#isFitted;
      if (isFitted) this.zoom(Math.max(PIXELS_SHOWN, this.#level * 2), this.#point(event));
      else this.fit();
    });
  }

  /** Return where in its pane an event is. */
  #point({ clientX, clientY }) {
    const boxes = [this.before, this.after].map((canvas) => canvas.parentElement.getBoundingClientRect());
    const box = boxes.find((b) => clientX >= b.left && clientX <= b.right && clientY >= b.top && clientY <= b.bottom);
    const { left, top } = box ?? boxes[0];
    return [clientX - left, clientY - top];
  }

  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onLine = event.target === this.line;
    const [far, near] = [this.#box()[0] / 8, event.shiftKey ? 10 : 1];
    const actions = {
      "+": () => this.zoom(this.#level * STEP),
      "=": () => this.zoom(this.#level * STEP),
      "-": () => this.zoom(this.#level / STEP),
      0: () => this.fit(),
      1: () => this.zoom(1),
      s: () => (this.isSideBySide = !this.isSideBySide),
      ArrowLeft: () => (onLine ? (this.position -= near) : this.#move(far, 0)),
      ArrowRight: () => (onLine ? (this.position += near) : this.#move(-far, 0)),
      ArrowUp: () => (onLine ? (this.position += near) : this.#move(0, far)),
      ArrowDown: () => (onLine ? (this.position -= near) : this.#move(0, -far)),
      ...(onLine && { Home: () => (this.position = 0), End: () => (this.position = 100) }),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  #onWheel(event) {
    if (!this.wheel && !event.ctrlKey) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const turned = clamp(event.deltaY * lines * (event.ctrlKey ? 8 : 1), -200, 200);
    this.zoom(this.#level * 2 ** (-turned / 250), this.#point(event));
  }

  #onDown(event) {
    if (event.button) return;
    this.panes.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, event);
    const [x] = this.#point(event);
    const isNear = Math.abs(x - (this.position / 100) * this.#box()[0]) < NEAR;
    const zoomed = this.panes.classList.contains("zoomed");
    this.#drags = this.isSideBySide || (zoomed && !isNear) ? "picture" : "line";
    if (this.#pointers.size > 1) this.#drags = "picture";
    else if (this.#drags === "line") this.#moveLine(x);
  }

  #onMove(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const other = [...this.#pointers.values()].find((p) => p.pointerId !== event.pointerId);
    this.#pointers.set(event.pointerId, event);
    const [from, to] = [this.#point(before), this.#point(event)];
    if (other) {
      const [still] = [this.#point(other)];
      const distance = (p) => Math.hypot(p[0] - still[0], p[1] - still[1]) || 1;
      const middle = [0, 1].map((axis) => (to[axis] + still[axis]) / 2);
      this.zoom((this.#level * distance(to)) / distance(from), middle);
      this.#move((to[0] - from[0]) / 2, (to[1] - from[1]) / 2);
    } else if (this.#drags === "line") this.#moveLine(to[0]);
    else this.#move(to[0] - from[0], to[1] - from[1]);
  }

  #moveLine(x) {
    this.position = (x / this.#box()[0]) * 100;
  }
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);

/** Draw a picture to a canvas of a size, enlarged smoothly where it is smaller. */
export function drawBefore(canvas, picture, [width, height]) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.clearRect(0, 0, width, height);
  context.drawImage(picture, 0, 0, width, height);
}
