
// The strip at the top: how many messages there were when, and where errors and faults are. Dragging selects a range.

class Overview {
  constructor(recording, onRange) {
    this.recording = recording;
    this.onRange = onRange;
    this.canvas = byId("activity");
    this.range = null;
    this.drag = null;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.drag = { from: event.offsetX, to: event.offsetX };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.drag) return;
      this.drag.to = event.offsetX;
      this.draw();
    });
    this.canvas.addEventListener("pointerup", () => this.endDrag());
    this.canvas.addEventListener("pointercancel", () => {
      this.drag = null;
      this.draw();
    });
  }

  endDrag() {
    if (!this.drag) return;
    const [from, to] = [this.drag.from, this.drag.to].sort((a, b) => a - b).map((x) => this.timeAt(x));
    const isClick = Math.abs(this.drag.to - this.drag.from) < 4;
    this.drag = null;
    this.onRange(isClick ? null : [from, to]);
    this.draw();
  }

  show(session, range) {
    this.session = session;
    this.range = range;
    byId("activity-range").textContent = range
      ? `${formatTime(range[0])} s to ${formatTime(Math.min(range[1], session.duration))} s: click to show all`
      : `0 to ${formatTime(session.duration)} s`;
    this.draw();
  }

  timeAt(x) {
    return Math.max(0, Math.min(1, x / this.canvas.clientWidth)) * this.session.duration;
  }

  draw() {
    const { canvas, session, recording } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!session || width === 0) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const [client, server, bad, accent, line] = ["client", "server", "bad", "accent", "line"].map(colour);

    const step = 3;
    const columns = Math.ceil(width / step);
    const counts = [new Uint32Array(columns), new Uint32Array(columns)];
    const bads = [new Uint32Array(columns), new Uint32Array(columns)];
    for (let row = session.first; row < session.end; row++) {
      if (recording.isStderr(row)) continue;
      const at = Math.min(columns - 1, Math.floor((recording.time[row] / Math.max(session.duration, 1)) * columns));
      const side = recording.isFromServer(row) ? 1 : 0;
      counts[side][at]++;
      if (recording.isBad(row)) bads[side][at]++;
    }
    const middle = height / 2;
    const most = Math.max(1, ...counts[0], ...counts[1]);
    // The square root keeps a single message in sight beside a burst of thousands.
    const tall = (count) => (count === 0 ? 0 : Math.max(2, Math.sqrt(count / most) * (middle - 6)));
    context.fillStyle = line;
    context.fillRect(0, middle - 0.5, width, 1);
    for (let at = 0; at < columns; at++) {
      for (const side of [0, 1]) {
        const [all, wrong] = [tall(counts[side][at]), tall(bads[side][at])];
        const draw = (length, style) => {
          context.fillStyle = style;
          context.fillRect(at * step, side === 0 ? middle - 1 - length : middle + 1, step - 1, length);
        };
        if (all > 0) draw(all, side === 0 ? client : server);
        if (wrong > 0) draw(Math.max(wrong, 4), bad);
      }
    }

    let selected = null;
    if (this.drag) selected = [this.drag.from, this.drag.to].sort((a, b) => a - b);
    else if (this.range) selected = this.range.map((time) => (Math.min(time, session.duration) / Math.max(session.duration, 1)) * width);
    if (selected) {
      context.fillStyle = accent;
      context.globalAlpha = 0.18;
      context.fillRect(selected[0], 0, selected[1] - selected[0], height);
      context.globalAlpha = 1;
      context.fillRect(selected[0] - 1, 0, 2, height);
      context.fillRect(selected[1] - 1, 0, 2, height);
    }
  }
}

/** The value of one of the style's colours in the current theme. */
function colour(name) {
  const probe = element("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
