
// The timeline: calls as bars over time, and faults and lines of standard error as marks.

const STATUS_TEXT = {
  ok: "ok",
  failed: "failed",
  fault: "fault",
  unanswered: "unanswered",
  cancelled: "cancelled",
  unmatched: "no request",
  stderr: "stderr",
};

const TIMELINE_COLUMNS = [
  ["time", "time, s"],
  ["direction", ""],
  ["name", "call"],
  ["id", "id"],
  ["status", "status"],
  ["latency number-cell", "latency"],
  ["track", ""],
];

/** How many pixels the label of a tick may take. */
const TICK_LABEL_WIDTH = 60;

/** Whether a row is an entry of the timeline. */
function isOnTimeline(recording, row) {
  const bits = recording.bits[row];
  return (bits & (IS_CALL | IS_UNMATCHED)) !== 0 || kindOf(bits) === STDERR || (kindOf(bits) === FAULT && recording.call[row] < 0);
}

class Timeline {
  constructor(recording, view, onOpen) {
    this.recording = recording;
    this.scaleName = SCALES[0][0];
    this.grid = new Grid(view, "Timeline of calls", TIMELINE_COLUMNS, (row, cells, item) => this.fill(cells, item), {
      onOpen,
      onScroll: (items) => this.fit(items),
    });
  }

  show(rows, session, isFiltered) {
    this.session = session;
    this.grid.show(rows, isFiltered ? "No call matches the filter." : "This session has no calls.");
  }

  /** When an entry ends: with its response, or with the session if there is none. */
  end(row) {
    const { recording } = this;
    if (!(recording.bits[row] & IS_CALL)) return recording.time[row];
    const latency = recording.latency(row);
    return latency < 0 ? this.session.duration : recording.time[row] + latency;
  }

  /** Chooses the scale of the bars, and draws its axis. */
  fit(items) {
    this.scale = this.makeScale(items);
    const axis = this.grid.head.lastElementChild;
    const { times, step } = this.scale.ticks(Math.max(1, Math.min(8, Math.floor(axis.clientWidth / 90))));
    this.ticks = times;
    // A label that would be cut at the right is left out.
    const fits = (at) => (this.scale.position(at) / 100) * axis.clientWidth < axis.clientWidth - TICK_LABEL_WIDTH;
    axis.replaceChildren(...times.map((at) => this.tick(at, fits(at) ? `${formatTime(at, step)} s` : "")));
  }

  makeScale(items) {
    if (this.scaleName === "session" || items.length === 0) return new LinearScale(0, this.session.duration);
    // A call that was never answered must not hide the others.
    const spans = items.map((row) => {
      const start = this.recording.time[row];
      return [start, this.recording.status(row) === "unanswered" ? start : this.end(row)];
    });
    if (this.scaleName === "compressed") return new CompressedScale(spans);
    return new LinearScale(Math.min(...spans.map(([start]) => start)), Math.max(...spans.map(([, end]) => end)));
  }

  tick(at, text) {
    const tick = element("span", "tick", text);
    tick.style.left = `${this.scale.position(at)}%`;
    return tick;
  }

  fill(cells, row) {
    const { recording } = this;
    const isFromServer = recording.isFromServer(row);
    const status = recording.status(row);
    const [time, direction, name, id, statusCell, latencyCell, track] = cells;
    time.textContent = formatTime(recording.time[row]);
    showDirection(direction, isFromServer);
    showName(name, recording, row);
    id.textContent = plain(recording.ids[row] ?? "");
    statusCell.textContent = STATUS_TEXT[status];
    statusCell.className = `status status-${status}`;
    const reason = plain(recording.reason(row));
    statusCell.title = reason;
    if (reason) name.append(" ", element("small", "status-failed", reason));
    const latency = recording.bits[row] & IS_CALL ? recording.latency(row) : -1;
    latencyCell.textContent = latency < 0 ? "" : formatDuration(latency);

    track.replaceChildren(...this.ticks.map((at) => this.tick(at, "")));
    const left = this.scale.position(recording.time[row]);
    if (!(recording.bits[row] & IS_CALL)) {
      const mark = element("span", recording.isStderr(row) ? "mark output" : "mark");
      mark.style.left = `${left}%`;
      track.append(mark);
      return;
    }
    const bar = element("span", "bar");
    const isBad = status === "failed" || status === "fault";
    bar.classList.toggle("from-server", isFromServer);
    bar.classList.toggle("bad", isBad && latency >= 0);
    bar.classList.toggle("open", latency < 0);
    const right = Math.min(this.scale.position(this.end(row)), 101);
    bar.style.left = `${left}%`;
    bar.style.width = `${Math.max(0, right - left)}%`;
    track.append(bar);
    for (const between of recording.between.get(row) ?? []) {
      const dot = element("span", "dot");
      dot.style.left = `${this.scale.position(recording.time[between])}%`;
      track.append(dot);
    }
  }
}

function showDirection(cell, isFromServer) {
  cell.textContent = isFromServer ? "←" : "→";
  cell.className = `direction ${isFromServer ? "server" : "client"}`;
  cell.title = isFromServer ? "from the server" : "from the client";
}

/** Shows the method and the tool of a row, or what else it is. */
function showName(cell, recording, row) {
  if (recording.isStderr(row)) {
    const text = plain(recording.payload(row).slice(0, PREVIEW_LENGTH));
    cell.replaceChildren(element("span", "output", text));
    cell.title = text;
    return;
  }
  const [method, tool] = recording.labels(row);
  const note = recording.notes.get(row);
  if (recording.kind(row) === FAULT && !method) {
    cell.replaceChildren(note[0]);
    return;
  }
  cell.replaceChildren(plain(method || (recording.kind(row) === BATCH ? "(batch)" : "(unknown)")));
  if (tool) cell.append(" ", element("span", "tool", plain(tool)));
  cell.title = plain(tool ? `${method} ${tool}` : method);
}
