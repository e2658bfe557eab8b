
// The data that the page contains, in columns: one entry per message, batch, fault or line of standard error, in the order of the recording.

// A line of standard error is no message, but comes in order with them.
const KINDS = ["request", "notification", "response", "error", "batch", "fault", "stderr"];
const [REQUEST, NOTIFICATION, RESPONSE, ERROR, BATCH, FAULT, STDERR] = KINDS.keys();

const FROM_SERVER = 1;
const IS_ENTRY = 1 << 4;
const IS_CUT = 1 << 5;
const IS_CALL = 1 << 6;
const REUSES_ID = 1 << 7;
const IS_UNMATCHED = 1 << 8;
const IS_FAILURE = 1 << 9;
const IS_CANCELLATION = 1 << 10;
const BREAKS_RULE = 1 << 11;

const kindOf = (bits) => (bits >> 1) & 7;

/** Everything that the page knows. */
class Recording {
  constructor() {
    this.sessions = [];
    this.summary = {};
    /** For each chunk of payloads, its first row and its element. */
    this.payloads = [];
    const rows = [];
    let first = 0;
    for (const part of document.querySelectorAll('script[type="application/json"]')) {
      switch (part.dataset.part) {
        case "rows":
          for (const row of JSON.parse(part.textContent)) rows.push(row);
          part.remove();
          break;
        case "payloads":
          this.payloads.push({ first: this.payloads.at(-1)?.end ?? 0, end: rows.length, part });
          break;
        case "session":
          this.sessions.push({ ...JSON.parse(part.textContent), first, end: rows.length });
          first = rows.length;
          break;
        case "summary":
          this.summary = JSON.parse(part.textContent);
          break;
      }
    }
    this.fillColumns(rows);
    this.connectCalls();
  }

  fillColumns(rows) {
    this.time = new Float64Array(rows.length);
    this.bits = new Uint16Array(rows.length);
    this.size = new Float64Array(rows.length);
    this.label = new Int32Array(rows.length);
    this.request = new Float64Array(rows.length);
    this.ids = new Array(rows.length);
    /** What errors and faults say, by row. */
    this.notes = new Map();
    /** Which rules a message breaks, by row. */
    this.findings = new Map();
    rows.forEach(([time, bits, size, label, id, request, note, findings], row) => {
      this.time[row] = time;
      this.bits[row] = bits;
      this.size[row] = size;
      this.label[row] = label;
      this.request[row] = request;
      this.ids[row] = id === 0 ? null : id;
      if (note !== 0) this.notes.set(row, note);
      if (findings) this.findings.set(row, findings);
    });
    this.length = rows.length;
  }

  /** Finds the row of each request, and of its response. */
  connectCalls() {
    this.response = new Int32Array(this.length).fill(-1);
    /** For each row, the row of the request that it belongs to, or -1. */
    this.call = new Int32Array(this.length).fill(-1);
    /** The rows between a request and its response that belong to it: progress and cancellation. */
    this.between = new Map();
    let session = -1;
    let requests = null;
    for (let row = 0; row < this.length; row++) {
      // Requests are numbered anew in each session.
      while (this.sessions[session + 1]?.first <= row) {
        session++;
        requests = new Map();
      }
      const number = this.request[row];
      if (number < 0) continue;
      if (this.bits[row] & IS_CALL) {
        requests.set(number, row);
        this.call[row] = row;
        continue;
      }
      const call = requests.get(number);
      if (call === undefined) continue;
      this.call[row] = call;
      if (this.kind(row) === NOTIFICATION) {
        if (!this.between.has(call)) this.between.set(call, []);
        this.between.get(call).push(row);
      } else {
        this.response[call] = row;
      }
    }
  }

  /** Why a call failed, as its response says it: "-32601 method not found", or "". */
  reason(call) {
    const response = this.response[call];
    const note = response >= 0 && this.kind(response) !== FAULT ? this.notes.get(response) : undefined;
    return note === undefined ? "" : this.reasonText(note);
  }

  reasonText([code, text]) {
    return code === null ? text : `${code} ${text}`.trim();
  }

  kind(row) {
    return kindOf(this.bits[row]);
  }

  /** Whether a row is a line that the server wrote to standard error. */
  isStderr(row) {
    return this.kind(row) === STDERR;
  }

  isFromServer(row) {
    return (this.bits[row] & FROM_SERVER) !== 0;
  }

  /** The method and the tool of a message, or of the request that it answers: [method, tool], either may be "". */
  labels(row) {
    const call = this.call[row];
    const label = this.label[row] >= 0 ? this.label[row] : call >= 0 ? this.label[call] : -1;
    const entry = this.summary.labels[label];
    return entry === undefined ? ["", ""] : typeof entry === "string" ? [entry, ""] : entry;
  }

  /** Microseconds between a request and its response, or -1. */
  latency(call) {
    const response = this.response[call];
    return response < 0 ? -1 : Math.max(0, this.time[response] - this.time[call]);
  }

  /** Whether a call has an answer that is a message, so that its latency and its size count. */
  isAnswered(call) {
    return this.response[call] >= 0 && this.kind(this.response[call]) !== FAULT;
  }

  /** What became of an entry of the timeline. A call has failed if its answer is an error, says so, or is faulty. */
  status(row) {
    const bits = this.bits[row];
    if (!(bits & IS_CALL)) return { [FAULT]: "fault", [STDERR]: "stderr" }[kindOf(bits)] ?? "unmatched";
    const response = this.response[row];
    if (response >= 0 && (this.bits[response] & IS_FAILURE || [ERROR, FAULT].includes(this.kind(response)))) return "failed";
    if (response < 0 && this.isCancelled(row)) return "cancelled";
    if (kindOf(bits) === FAULT) return "fault";
    return response < 0 ? "unanswered" : "ok";
  }

  isCancelled(call) {
    return (this.between.get(call) ?? []).some((row) => this.bits[row] & IS_CANCELLATION);
  }

  /** Whether the row itself reports a problem. */
  isBad(row) {
    const kind = this.kind(row);
    return kind === ERROR || kind === FAULT || (this.bits[row] & (IS_FAILURE | BREAKS_RULE)) !== 0;
  }

  chunkOf(row) {
    let [low, high] = [0, this.payloads.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.payloads[middle].end <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** All payloads of a chunk, of which the last one is kept. */
  chunk(index) {
    if (this.lastChunk?.index !== index) {
      this.lastChunk = { index, texts: JSON.parse(this.payloads[index].part.textContent) };
    }
    return this.lastChunk.texts;
  }

  payload(row) {
    const index = this.chunkOf(row);
    return this.chunk(index)[row - this.payloads[index].first];
  }
}
