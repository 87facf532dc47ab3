// The interleaving of a finding: one lane per thread, time downwards, the events in conflict joined
// by arrows. Drawn on a canvas, and only what is in view, so the number of events does not matter.

const HEADER = 36;
/** Where the first row begins. */
const TOP = HEADER + 8;
const GUTTER = 84;
const NARROWEST_LANE = 170;
const NARROWEST_LANE_WITHOUT_TEXT = 70;
const ROW = 30;
const TALLEST_ROW = 64;
/** Rows below this height have no text. */
const TEXT_ROW = 15;
const LETTER = 7.25;
const SMALL_LETTER = 6.65;
const DOT = 22;

class Timeline {
  /** `chosen` is called with the index of each event that the reader chooses. */
  constructor(finding, chosen) {
    this.events = finding.threads;
    this.chosen = chosen;
    this.row = ROW;
    this.selected = -1;
    this.findLanes();
    this.findArrows(finding);
    this.findTransactions(finding);
    this.findMoved(finding);
    this.build();
  }

  findLanes() {
    const lanes = new Map();
    this.laneOf = new Int32Array(this.events.length);
    this.rowOf = new Map();
    this.events.forEach((event, i) => {
      if (!lanes.has(event.thread)) lanes.set(event.thread, lanes.size);
      this.laneOf[i] = lanes.get(event.thread);
      this.rowOf.set(event.event, i);
    });
    this.lanes = [...lanes.keys()];
  }

  /** A cycle has its edges; of other findings, the two events are in conflict. */
  findArrows(finding) {
    this.ordered = finding.explanation !== "unordered";
    const last = finding.cycle.length - 1;
    const edges = finding.cycle.map((t, i) => [t.edge.from.event, t.edge.to.event, i === last]);
    if (!edges.length && this.events.length === 2) edges.push([this.events[0].event, this.events[1].event, false]);
    this.arrows = edges
      .map(([from, to, closing]) => ({ from: this.rowOf.get(from), to: this.rowOf.get(to), closing }))
      .filter(({ from, to }) => from !== undefined && to !== undefined);
    this.conflicts = [...new Set(this.arrows.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
    this.inConflict = new Set(this.conflicts);
  }

  /** Which rows of a new order come later than observed: after one with a higher number. */
  findMoved(finding) {
    this.moved = new Set();
    let latest = 0;
    if (finding.reordering) this.events.forEach(({ event }, i) => {
      if (event < latest) this.moved.add(i);
      latest = Math.max(latest, event);
    });
  }

  /** Which rows each transaction covers. */
  findTransactions(finding) {
    const rowAt = (number) => this.firstRowFrom(number);
    const inOrder = (t) => [rowAt(t.first_event), Math.max(rowAt(t.first_event), rowAt(t.last_event + 1) - 1)];
    // In a new order the numbers do not grow from row to row, but those of a thread do.
    const moved = (t) => {
      const rows = this.events.flatMap((e, i) => (e.thread === t.thread && e.event >= t.first_event && e.event <= t.last_event ? [i] : []));
      return [rows[0] ?? this.events.length, rows.at(-1) ?? -1];
    };
    this.transactions = finding.cycle.map((t, i) => {
      const [first, last] = finding.reordering ? moved(t) : inOrder(t);
      return { lane: this.lanes.indexOf(t.thread), first, last, blamed: i === 0 && finding.blame !== null };
    }).filter((t) => t.lane >= 0 && t.first < this.events.length);
  }

  firstRowFrom(number) {
    let low = 0, high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events[middle].event < number) low = middle + 1; else high = middle;
    }
    return low;
  }

  build() {
    this.canvas = el("canvas", { role: "img" });
    this.canvas.setAttribute("aria-label",
      `Timeline of ${counted(this.events.length, "event", "events")} in ${counted(this.lanes.length, "thread", "threads")}`);
    this.space = el("div", { className: "space" });
    this.element = el("div", { className: "timeline", tabIndex: 0 }, this.canvas, this.space);
    this.element.setAttribute("role", "application");
    this.element.setAttribute("aria-label", "Timeline: arrows choose events, plus and minus zoom");
    this.tip = el("div", { className: "tip", hidden: true });
    this.element.addEventListener("scroll", () => this.soon(), { passive: true });
    this.element.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.element.addEventListener("pointermove", (e) => this.hover(e));
    this.element.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.element.addEventListener("click", (e) => this.click(e));
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
  }

  /** Lets go of what outlives the element. */
  close() {
    this.observer.disconnect();
    this.tip.remove();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  /** As tall as its events need, as long as they leave room for the rest of the page. */
  wantedHeight() {
    const room = Math.max(320, window.innerHeight - 260);
    return Math.min(room, TOP + this.events.length * ROW + 10);
  }

  resize() {
    const width = this.element.clientWidth, height = this.element.clientHeight;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.stretch();
    this.draw();
  }

  /** Makes room for all rows and lanes. */
  stretch() {
    const narrowest = this.row >= TEXT_ROW ? NARROWEST_LANE : NARROWEST_LANE_WITHOUT_TEXT;
    this.lane = Math.max(narrowest, (this.width - GUTTER - 8) / Math.max(1, this.lanes.length));
    this.space.style.height = `${TOP + this.events.length * this.row + 8}px`;
    this.space.style.width = `${GUTTER + this.lane * this.lanes.length}px`;
  }

  shortestRow() {
    return Math.min(ROW, Math.max(0.001, (this.height - TOP - 10) / Math.max(1, this.events.length)));
  }

  /** Zooms so that what is at `y` of the view stays there. */
  zoom(factor, y = this.height / 2) {
    const at = (this.element.scrollTop + y - TOP) / this.row;
    this.row = Math.min(TALLEST_ROW, Math.max(this.shortestRow(), this.row * factor));
    this.stretch();
    this.element.scrollTop = at * this.row - y + TOP;
    this.soon();
  }

  fit() {
    this.zoom(this.shortestRow() / this.row);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event.clientY - this.element.getBoundingClientRect().top);
  }

  /** The event at a place of the screen; -1 if there is none. */
  eventAt({ clientX, clientY }) {
    const box = this.element.getBoundingClientRect();
    const y = clientY - box.top;
    if (y < HEADER || clientX - box.left > this.element.clientWidth) return -1;
    const row = Math.floor((this.element.scrollTop + y - TOP) / this.row);
    return row >= 0 && row < this.events.length ? row : -1;
  }

  hover(pointer) {
    const i = this.eventAt(pointer);
    this.tip.hidden = i < 0 || this.row >= TEXT_ROW && this.lane > 300;
    if (this.tip.hidden) return;
    const event = this.events[i];
    this.tip.textContent = `${grouped(event.event)}  ${event.thread}  ${operation(event)}  ${siteText(event.site)}`;
    if (!this.tip.isConnected) document.body.append(this.tip);
    this.tip.style.left = `${Math.min(pointer.clientX + 14, window.innerWidth - 300)}px`;
    this.tip.style.top = `${Math.min(pointer.clientY + 16, window.innerHeight - 60)}px`;
  }

  click(pointer) {
    const i = this.eventAt(pointer);
    if (i >= 0) this.select(i);
  }

  select(i) {
    if (!this.events.length) return;
    this.selected = Math.min(this.events.length - 1, Math.max(0, i));
    this.reveal(this.selected);
    this.chosen(this.selected);
    this.soon();
  }

  reveal(i) {
    const top = i * this.row, room = (this.height ?? 0) - TOP - this.row;
    const view = this.element;
    if (top < view.scrollTop) view.scrollTop = top - Math.min(room, 3 * this.row);
    else if (top > view.scrollTop + room) view.scrollTop = top - room + Math.min(room, 3 * this.row);
    const left = this.laneOf[i] * this.lane;
    if (left < view.scrollLeft) view.scrollLeft = left;
    else if (left + this.lane + GUTTER > view.scrollLeft + this.width) view.scrollLeft = left + this.lane + GUTTER - this.width;
  }

  /** The next (1) or previous (-1) event in conflict. */
  step(direction) {
    const next = direction > 0
      ? this.conflicts.find((i) => i > this.selected)
      : this.conflicts.findLast((i) => i < this.selected);
    if (next !== undefined) this.select(next);
  }

  /** Whether the key was for us. */
  key(key) {
    const actions = {
      ArrowDown: () => this.select(this.selected + 1),
      ArrowUp: () => this.select(this.selected - 1),
      ArrowRight: () => this.step(1),
      ArrowLeft: () => this.step(-1),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      0: () => this.fit(),
    };
    if (!actions[key]) return false;
    actions[key]();
    return true;
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["paper", "raised", "line", "line-strong", "ink", "soft", "accent", "accent-soft", "bad", "bad-soft", "txn", "mono", "sans"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  draw() {
    if (!this.width) return;
    const c = this.canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    const colour = this.colours();
    this.left = this.element.scrollLeft;
    this.top = this.element.scrollTop;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colour.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.textBaseline = "middle";
    const first = Math.max(0, Math.floor(this.top / this.row) - 1);
    const last = Math.min(this.events.length, Math.ceil((this.top + this.height) / this.row) + 1);
    this.drawTransactions(c, colour);
    this.drawSelection(c, colour);
    this.drawLifelines(c, colour);
    this.drawArrows(c, colour);
    this.drawEvents(c, colour, first, last);
    this.drawGutter(c, colour, first, last);
    this.drawHeader(c, colour);
  }

  x(lane) { return GUTTER + lane * this.lane - this.left; }
  y(row) { return TOP + (row + 0.5) * this.row - this.top; }

  drawTransactions(c, colour) {
    for (const t of this.transactions) {
      const y = this.y(t.first) - this.row / 2 + 2;
      const height = Math.max(2, (t.last - t.first + 1) * this.row - 4);
      c.beginPath();
      c.roundRect(this.x(t.lane) + 8, y, this.lane - 16, height, Math.min(9, height / 2));
      c.fillStyle = t.blamed ? colour["bad-soft"] : colour.txn;
      c.fill();
      c.lineWidth = t.blamed ? 2 : 1;
      c.strokeStyle = t.blamed ? colour.bad : colour["line-strong"];
      c.stroke();
    }
  }

  drawSelection(c, colour) {
    if (this.selected < 0) return;
    const height = Math.max(3, this.row - 6);
    c.fillStyle = colour["accent-soft"];
    c.beginPath();
    c.roundRect(this.x(this.laneOf[this.selected]) + 12, this.y(this.selected) - height / 2, this.lane - 24, height, Math.min(6, height / 2));
    c.fill();
    c.lineWidth = 1;
    c.strokeStyle = colour.accent;
    c.stroke();
  }

  drawLifelines(c, colour) {
    c.strokeStyle = colour["line-strong"];
    c.lineWidth = 1;
    c.beginPath();
    for (let lane = 0; lane < this.lanes.length; lane++) {
      const x = Math.round(this.x(lane) + DOT) + 0.5;
      c.moveTo(x, HEADER);
      c.lineTo(x, Math.min(this.height, this.y(this.events.length - 0.5)));
    }
    c.stroke();
  }

  drawArrows(c, colour) {
    for (const arrow of this.arrows) {
      const [x1, y1] = [this.x(this.laneOf[arrow.from]) + DOT, this.y(arrow.from)];
      const [x2, y2] = [this.x(this.laneOf[arrow.to]) + DOT, this.y(arrow.to)];
      if (Math.max(y1, y2) < HEADER || Math.min(y1, y2) > this.height) continue;
      // Zoomed out, the two may be so close that there is no room for a head.
      const close = Math.abs(y2 - y1) < 20;
      const bend = (y2 - y1) * 0.55, room = close || !this.ordered ? 0 : Math.sign(y2 - y1);
      const tip = y2 - room * 6;
      c.strokeStyle = c.fillStyle = arrow.closing ? colour.bad : colour.accent;
      c.lineWidth = this.selected === arrow.from || this.selected === arrow.to ? 2.6 : 1.6;
      c.setLineDash(arrow.closing ? [6, 4] : []);
      c.beginPath();
      c.moveTo(x1, y1);
      if (close) c.lineTo(x2, y2);
      else c.bezierCurveTo(x1, y1 + bend, x2, tip - bend, x2, tip - room * 7);
      c.stroke();
      c.setLineDash([]);
      if (!room) continue;
      c.beginPath();
      c.moveTo(x2, tip);
      c.lineTo(x2 - 5, tip - room * 9);
      c.lineTo(x2 + 5, tip - room * 9);
      c.fill();
    }
  }

  drawEvents(c, colour, first, last) {
    const texts = this.row >= TEXT_ROW;
    const letters = Math.floor((this.lane - DOT - 26) / LETTER);
    // At most one mark for a pixel and lane: zoomed out, most events would be drawn over each other.
    const drawn = new Int32Array(this.lanes.length).fill(-9);
    for (let i = first; i < last; i++) {
      const lane = this.laneOf[i], x = this.x(lane), y = this.y(i);
      const conflict = this.inConflict.has(i);
      if (x + this.lane < GUTTER || x > this.width) continue;
      if (!conflict && drawn[lane] === Math.round(y)) continue;
      drawn[lane] = Math.round(y);
      this.drawDot(c, colour, x + DOT, y, conflict);
      if (texts) this.drawText(c, { ...colour, ground: this.groundOf(i, colour) }, this.events[i], x + DOT + 12, y, letters, conflict);
    }
  }

  /** What an event is drawn on. */
  groundOf(i, colour) {
    if (i === this.selected) return colour["accent-soft"];
    const around = this.transactions.find((t) => t.lane === this.laneOf[i] && t.first <= i && i <= t.last);
    return around ? (around.blamed ? colour["bad-soft"] : colour.txn) : colour.paper;
  }

  drawDot(c, colour, x, y, conflict) {
    const size = conflict ? 5 : Math.max(1, Math.min(3.5, this.row / 3));
    c.beginPath();
    c.arc(x, y, size, 0, 7);
    c.fillStyle = conflict ? colour.accent : colour.soft;
    c.fill();
    if (!conflict) return;
    c.lineWidth = 2;
    c.strokeStyle = colour.paper;
    c.stroke();
  }

  drawText(c, colour, event, x, y, letters, conflict) {
    const what = shorten(operation(event), letters);
    c.font = `${conflict ? 600 : 400} 12px ${colour.mono}`;
    // Arrows pass behind the words, not through them.
    c.lineWidth = 4;
    c.lineJoin = "round";
    c.strokeStyle = colour.ground;
    c.strokeText(what, x, y);
    c.fillStyle = colour.ink;
    c.fillText(what, x, y);
    const used = what.length * LETTER + 8;
    const room = Math.floor((letters * LETTER - used) / SMALL_LETTER);
    if (!event.site || room < 4) return;
    const site = shorten(siteText(event.site), room);
    c.font = `11px ${colour.mono}`;
    c.strokeText(site, x + used, y);
    c.fillStyle = colour.soft;
    c.fillText(site, x + used, y);
  }

  drawGutter(c, colour, first, last) {
    c.fillStyle = colour.paper;
    c.fillRect(0, HEADER, GUTTER - 4, this.height);
    c.fillStyle = colour.soft;
    c.font = `11px ${colour.mono}`;
    c.textAlign = "right";
    const step = Math.max(1, Math.ceil(20 / this.row));
    for (let i = first - (first % step); i < last; i += step) {
      const moved = this.moved.has(i);
      c.fillStyle = moved ? colour.bad : colour.soft;
      c.fillText((moved ? "↓ " : "") + grouped(this.events[i].event), GUTTER - 16, this.y(i));
      c.fillStyle = colour.soft;
      const skipped = step === 1 && i > 0 && this.events[i].event - this.events[i - 1].event > 1;
      if (skipped && this.row >= 22) c.fillText("⋮", GUTTER - 16, this.y(i - 0.5));
    }
    c.textAlign = "left";
  }

  drawHeader(c, colour) {
    c.fillStyle = colour.raised;
    c.fillRect(0, 0, this.width, HEADER);
    c.fillStyle = colour.line;
    c.fillRect(0, HEADER - 1, this.width, 1);
    c.fillStyle = colour.ink;
    c.font = `600 12.5px ${colour.sans}`;
    const letters = Math.floor((this.lane - 30) / LETTER);
    this.lanes.forEach((name, lane) => c.fillText(shorten(threadName(name), letters), this.x(lane) + DOT - 6, HEADER / 2));
    c.fillStyle = colour.raised;
    c.fillRect(0, 0, GUTTER - 4, HEADER - 1);
    c.fillStyle = colour.soft;
    c.font = `12px ${colour.sans}`;
    c.textAlign = "right";
    c.fillText("event", GUTTER - 16, HEADER / 2);
    c.textAlign = "left";
  }
}
