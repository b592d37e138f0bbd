// Timeline: lanes over time on a canvas. It keeps the view, follows the clock, and tells its owner what people do.
import { palette } from "./colours.js";
import { under, words } from "./hits.js";
import { paintAxis, paintContent, paintNames, paintNow, paintRows } from "./paint.js";
import { Scene } from "./scene.js";
import { Times } from "./times.js";

const AXIS = 42;
const SHORTEST = 1e3; // a millisecond
const LONGEST = 200 * 365.25 * 86400e6;
const AHEAD = 0.04;
const OVERSCAN = 0.5;
const REPAINT_MS = 250; // what comes live is painted so often at most

export class Timeline {
  // `told(name, detail)` is called with: range, pick, follow.
  constructor(host, options, told) {
    this.host = host;
    this.told = told;
    this.scene = new Scene(options.mostDetections, options.mostMatches);
    this.times = new Times(options.zone);
    this.from = options.from;
    this.to = options.to;
    this.follows = options.follows;
    this.ahead = options.nowUs - Date.now() * 1000; // the server's clock counts
    this.chosen = null;
    this.frames = 0;
    this.paints = 0;
    this.painted = { detections: 0, left: 0, matches: 0, matchesLeft: 0 };
    this.request = this.request.bind(this);
    this.build();
    this.listen();
    this.resize();
    this.loop = requestAnimationFrame(() => this.frame());
  }

  build() {
    this.host.classList.add("timeline");
    this.scroller = document.createElement("div");
    this.scroller.className = "timeline-scroller";
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Timeline. Arrows move it, plus and minus zoom, End follows the present, N and P show the next thing and the one before. What it shows stands in the lists below it.");
    this.spacer = document.createElement("div");
    this.tip = document.createElement("div");
    this.tip.className = "timeline-tip";
    this.tip.hidden = true;
    this.note = document.createElement("div");
    this.note.className = "timeline-note";
    this.note.hidden = true;
    this.scroller.append(this.canvas, this.spacer);
    this.host.append(this.scroller, this.tip, this.note);
    this.context = this.canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.host);
    this.themes = new MutationObserver(() => this.recolour());
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.recolour();
  }

  recolour() {
    this.colours = palette(document.body.classList.contains("body--dark"));
    this.isSpoilt = true;
    this.request();
  }

  resize() {
    this.width = Math.max(120, this.scroller.clientWidth);
    this.height = Math.max(120, this.host.clientHeight);
    if (this.width === this.canvas.width / this.ratio && this.height === this.canvas.height / this.ratio) return;
    this.gutter = this.width < 560 ? 92 : 150;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.ratio = ratio;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.isSpoilt = true;
    this.request();
  }

  get now() {
    return Date.now() * 1000 + this.ahead;
  }

  get span() {
    return this.to - this.from;
  }

  merge(change) {
    this.scene.merge(change);
    this.scene.prune(this.from, this.to);
    this.isOld = true;
    this.request();
  }

  setView(view) {
    this.scene.setView(view);
    this.isSpoilt = true;
    this.request();
  }

  choose(id) {
    const match = this.scene.matches.get(id);
    this.chosen = id ? { id, detections: new Set(match ? match.members.map((each) => each.key) : [id]) } : null;
    this.isSpoilt = true;
    this.request();
  }

  setFollow(follows) {
    this.follows = follows;
    if (follows) {
      const span = this.span;
      this.to = this.now + span * AHEAD;
      this.from = this.to - span;
      this.tellRange();
    }
    this.request();
  }

  setRange(from, to) {
    const span = Math.min(LONGEST, Math.max(SHORTEST, to - from));
    const middle = (from + to) / 2;
    this.from = middle - span / 2;
    this.to = middle + span / 2;
    this.tellRange();
    this.request();
  }

  // Show a length of time: up to now where it follows, around the middle otherwise.
  setSpan(span) {
    if (this.follows) {
      this.from = this.to - span;
      this.setFollow(true);
    } else {
      const middle = (this.from + this.to) / 2;
      this.setRange(middle - span / 2, middle + span / 2);
    }
  }

  pan(share) {
    this.leave();
    this.setRange(this.from + share * this.span, this.to + share * this.span);
  }

  zoom(factor, at = this.follows ? this.now : (this.from + this.to) / 2) {
    const span = Math.min(LONGEST, Math.max(SHORTEST, this.span * factor));
    const share = (at - this.from) / this.span;
    this.setRange(at - share * span, at - share * span + span);
  }

  leave() {
    if (!this.follows) return;
    this.follows = false;
    this.told("follow", false);
  }

  tellRange() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.told("range", { from: Math.round(this.from), to: Math.round(this.to) }), 200);
  }

  request() {
    this.isDue = true;
  }

  frame() {
    this.loop = requestAnimationFrame(() => this.frame());
    if (this.follows) {
      const to = this.now + this.span * AHEAD;
      const pixels = ((to - this.to) / this.span) * this.width;
      if (pixels >= 0.5 || pixels < 0) [this.from, this.to, this.isDue] = [to - this.span, to, true];
    }
    if (!this.isDue || document.hidden) return;
    this.isDue = false;
    this.paint();
    this.frames += 1;
  }

  paint() {
    const { context, scene, colours, ratio } = this;
    const most = Math.max(300, Math.min(720, window.innerHeight * 0.56));
    scene.layOut(most - AXIS);
    const fitting = Math.round(Math.max(220, Math.min(most, scene.height + AXIS + 6)));
    if (fitting !== this.height) {
      this.host.style.height = `${fitting}px`; // the observer has it painted anew
      this.resize();
    }
    this.spacer.style.height = `${Math.max(0, scene.height + AXIS - this.height)}px`;
    const box = { width: this.width, height: this.height - AXIS, axis: AXIS, gutter: this.gutter, top: this.scroller.scrollTop };
    this.box = box;
    this.refreshLayer(box);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintRows(context, scene, box, colours);
    paintAxis(context, this.times, box, this.from, this.to, this.now, colours);
    const shift = ((this.from - this.painted.from) / this.span) * (this.width - this.gutter);
    context.save();
    context.beginPath();
    context.rect(this.gutter, AXIS, this.width - this.gutter, box.height);
    context.clip();
    context.drawImage(this.layer, this.gutter - shift, AXIS, this.layer.width / ratio, this.layer.height / ratio);
    context.restore();
    paintNow(context, box, this.from, this.to, this.now, colours);
    paintNames(context, scene, box, colours);
    this.showNote();
  }

  // The content is painted wider than the view, so that moving it is but moving a picture.
  refreshLayer(box) {
    const known = this.painted;
    const moved = known.from === undefined || this.from < known.from || this.to > known.to || Math.abs(known.span / this.span - 1) > 1e-9;
    const isLate = this.isOld && performance.now() - this.paintedAt > REPAINT_MS;
    if (this.isOld && !isLate) setTimeout(this.request, REPAINT_MS);
    if (!moved && !isLate && !this.isSpoilt && known.top === box.top) return;
    const wide = (this.width - this.gutter) * (1 + 2 * OVERSCAN);
    const area = { from: this.from - this.span * OVERSCAN, to: this.to + this.span * OVERSCAN, width: wide, height: box.height, top: box.top };
    const [width, height] = [Math.ceil(wide * this.ratio), Math.ceil(box.height * this.ratio)];
    if (this.layer.width !== width || this.layer.height !== height) [this.layer.width, this.layer.height] = [width, height];
    const context = this.layer.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    const seen = paintContent(context, this.scene, area, this.colours, this.chosen);
    this.painted = { ...seen, from: area.from, to: area.to, span: this.span, top: box.top };
    this.isOld = this.isSpoilt = false;
    this.paintedAt = performance.now();
    this.paints += 1;
  }

  showNote() {
    const { detections, left, matches, matchesLeft } = this.painted;
    const told = [];
    const more = left + this.scene.leftOutOf(this.from, this.to);
    if (more) told.push(`a sample of the detections: ${(detections - left).toLocaleString("en")} are drawn, ${more.toLocaleString("en")} are left out`);
    if (matchesLeft) told.push(`the ${(matches - matchesLeft).toLocaleString("en")} best fitting of ${matches.toLocaleString("en")} matches`);
    const text = told.length ? `This shows ${told.join(", and ")}.` : "";
    if (this.note.textContent !== text) this.note.textContent = text;
    this.note.hidden = !text;
  }

  at(clientX) {
    const box = this.canvas.getBoundingClientRect();
    return this.from + ((clientX - box.left - this.gutter) / (this.width - this.gutter)) * this.span;
  }

  find(event) {
    const box = this.canvas.getBoundingClientRect();
    const [left, y] = [event.clientX - box.left, event.clientY - box.top - AXIS];
    if (left < this.gutter || y < 0 || !this.box) return null;
    const scale = (this.width - this.gutter) / this.span;
    return under(this.scene, (at) => this.gutter + (at - this.from) * scale, this.box.top, left, y, this.from, this.to);
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.clientX, first: event.clientX, top: event.clientY });
    });
    canvas.addEventListener("pointermove", (event) => {
      const known = pointers.get(event.pointerId);
      if (!known) {
        this.hover(event);
        return;
      }
      if (pointers.size === 2) this.pinch(pointers, event);
      else if (Math.abs(event.clientX - known.first) > 3 || known.moves) {
        known.moves = true;
        this.hide();
        this.pan(-(event.clientX - known.x) / (this.width - this.gutter));
      }
      known.x = event.clientX;
    });
    const release = (event) => {
      const known = pointers.get(event.pointerId);
      pointers.delete(event.pointerId);
      if (known && !known.moves && event.type === "pointerup") this.pick(event);
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.hide());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("scroll", () => this.request());
  }

  pinch(pointers, event) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
    const known = pointers.get(event.pointerId);
    const [before, after] = [Math.abs(known.x - other.x), Math.abs(event.clientX - other.x)];
    known.moves = other.moves = true;
    if (before > 10 && after > 10) this.zoom(before / after, this.at((event.clientX + other.x) / 2));
  }

  wheel(event) {
    const overflows = this.scene.height + AXIS > this.height + 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.width);
    else if (event.shiftKey) this.pan(event.deltaY / this.width);
    else if (overflows && !event.ctrlKey) return; // it scrolls the lanes
    else this.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) * 0.002), this.follows ? this.now : this.at(event.clientX));
    event.preventDefault();
  }

  key(event) {
    const acts = {
      ArrowLeft: () => this.pan(-0.1),
      ArrowRight: () => this.pan(0.1),
      "+": () => this.zoom(1 / 1.5),
      "=": () => this.zoom(1 / 1.5),
      "-": () => this.zoom(1.5),
      n: () => this.step(1),
      p: () => this.step(-1),
      End: () => this.told("follow", true),
      Escape: () => this.told("pick", null),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    acts[event.key]();
    event.preventDefault();
  }

  hover(event) {
    const found = this.find(event);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    if (!found) {
      this.hide();
      return;
    }
    this.tip.replaceChildren(
      ...words(this.scene, this.times, found).map((line, nth) => {
        const element = document.createElement(nth ? "div" : "strong");
        element.textContent = line;
        return element;
      }),
    );
    this.tip.hidden = false;
    const box = this.host.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const [wide, tall] = [this.tip.offsetWidth, this.tip.offsetHeight];
    this.tip.style.left = `${Math.max(4, Math.min(left + 14, this.width - wide - 6))}px`;
    this.tip.style.top = `${top + 18 + tall > this.height ? Math.max(4, top - tall - 10) : top + 18}px`;
  }

  hide() {
    this.tip.hidden = true;
  }

  pick(event) {
    const found = this.find(event);
    if (found) this.tellPick(found);
  }

  // Choose the next thing in view by time, or the one before: what a pointer can choose, keys can, too.
  step(by) {
    const { alerts, episodes, matches, detections } = this.scene;
    const inView = (kind, things, when) => [...things.values()]
      .map((thing) => ({ kind, thing, at: when(thing) }))
      .filter(({ thing, at }) => at >= this.from && at <= this.to && this.scene.shows(thing));
    const all = [
      ...inView("alert", alerts, (each) => each.at),
      ...inView("episode", episodes, (each) => each.start),
      ...inView("match", matches, (each) => each.first),
      ...inView("detection", detections, (each) => each.at),
    ].sort((a, b) => a.at - b.at);
    if (!all.length) return;
    const now = all.findIndex(({ thing }) => (thing.key ?? thing.id) === this.stepped);
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : (now + by + all.length) % all.length];
    this.stepped = next.thing.key ?? next.thing.id;
    this.tellPick(next);
  }

  tellPick({ kind, thing }) {
    const { area, sensor, stream, at, template } = thing;
    this.told("pick", kind === "detection" ? { kind, id: thing.key, area, sensor, stream, at, template } : { kind, id: thing.id });
  }

  destroy() {
    cancelAnimationFrame(this.loop);
    clearTimeout(this.telling);
    this.observer.disconnect();
    this.themes.disconnect();
  }
}
