// The gallery: each network has two pictures made with the page; where the browser can, it runs here too.

import { sizeOf } from "./shadergen/pixels.js";
import { decode } from "./decode.js";
import { Network } from "./network.js";
import { drawBefore, Panes } from "./panes.js";
import { rendererText, timeText } from "./texts.js";

class Card {
  #network = null;
  #opening = null;
  #turn = 0; // counts pictures; the result of an earlier one is not shown
  #taken = 0; // counts files; one that is decoded only after another was chosen is dropped
  #working = Promise.resolve(); // a picture is run when the one before it has stopped

  constructor(section) {
    this.section = section;
    const find = (selector) => section.querySelector(selector);
    this.state = find(".state");
    this.meter = find("progress");
    this.wrong = find(".wrong");
    const [was, is] = [find(".was"), find(".is")];
    this.before = was;
    this.view = new Panes(find(".stage"), { name: () => `${this.name}-${section.id}`, fail: (error) => this.say(error) });
    this.name = "sample";
    find(".still").remove();
    find("label.button").hidden = false;
    find("input[type=file]").onchange = ({ target }) => {
      if (target.files[0]) this.take(target.files[0]);
      target.value = "";
    };
    section.addEventListener("dragover", (event) => event.preventDefault());
    section.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files[0]) this.take(event.dataTransfer.files[0]);
    });
    this.ready = this.#showPictures(was, is);
  }

  async #showPictures(was, is) {
    for (const image of [was, is]) image.loading = "eager";
    await Promise.all([was.decode(), is.decode()]);
    const [width, height] = [is.naturalWidth, is.naturalHeight];
    this.view.resize(width, height);
    drawBefore(this.view.before, was, [width, height]);
    Object.assign(this.view.after, { width, height });
    this.view.after.getContext("2d").drawImage(is, 0, 0);
    this.view.buttons.save.disabled = false;
    this.picture = await createImageBitmap(was);
  }

  say(error) {
    this.wrong.textContent = error ? (error.message ?? error) : "";
  }

  report(text, part = null) {
    this.state.textContent = text;
    this.meter.hidden = false;
    if (part === null) this.meter.removeAttribute("value");
    else this.meter.value = part;
  }

  /** Run the network on the picture of this card, in the browser. */
  run() {
    const mine = ++this.#turn;
    this.#working = this.#working.then(() => mine === this.#turn && this.#run(mine));
    return this.#working;
  }

  async #run(mine) {
    try {
      await this.ready;
      this.#opening ??= Network.open(this.section.dataset, (...all) => this.report(...all));
      this.#network = await this.#opening;
      const [width, height] = sizeOf(this.picture);
      const plan = this.#network.plan(width, height);
      if (mine !== this.#turn) return;
      const { view } = this;
      const space = plan.result.map((side, axis) => Math.max(side, [width, height][axis]));
      view.resize(...space);
      drawBefore(view.before, this.picture, space);
      this.report("Running", 0);
      const onTile = (done, all) => {
        this.report("Running", done / all);
        return mine === this.#turn;
      };
      const start = performance.now();
      if (!(await this.#network.run(this.picture, view.after, { onTile }))) return;
      let took = performance.now() - start;
      if (took < 500) { // the first run is slower: drivers still prepare
        const again = performance.now();
        await this.#network.run(this.picture, view.after);
        took = performance.now() - again;
      }
      if (mine !== this.#turn) return;
      const { api, renderer } = this.#network;
      this.state.textContent = `Ran here in ${timeText(took)} on ${api}: ${rendererText(renderer)}`;
      if (plan.note) this.state.textContent += ` (${plan.note})`;
      this.section.dataset.shown = api;
    } catch (error) {
      if (mine !== this.#turn) return;
      this.#opening = null;
      this.state.textContent = "This network does not run in this browser. The pictures were computed when this page was made.";
      this.say(error);
    } finally {
      if (mine === this.#turn) this.meter.hidden = true;
    }
  }

  /** Run the network on a picture that a person chose. */
  async take(file) {
    const mine = ++this.#taken;
    this.say("");
    try {
      const [picture] = await Promise.all([decode(file), this.ready]);
      if (mine !== this.#taken) return;
      if (picture instanceof HTMLVideoElement) throw Error("Open videos with the link “Video and webcam”.");
      [this.picture, this.name] = [picture, file.name.replace(/\.[^.]*$/, "")];
    } catch (error) {
      if (mine === this.#taken) this.say(error);
      return;
    }
    return this.run();
  }
}

const cards = new Map([...document.querySelectorAll(".card")].map((section) => [section, new Card(section)]));
let last = Promise.resolve(); // one network gets ready at a time
const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      last = last.then(() => cards.get(target).run());
    }
  },
  { threshold: 0.3 },
);
for (const section of cards.keys()) seen.observe(section);
