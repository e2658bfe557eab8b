
// The filter: a query as people type it, and the rows that match it.

const DURATION_UNITS = { "µs": 1, us: 1, ms: 1e3, s: 1e6, "": 1e3, min: 60e6 };
const SIZE_UNITS = { b: 1, "": 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };

/** What `is:` finds. `is:error` is the same as `is:failed`. */
const IS = [...new Set(["failed", "fault", "unanswered", "cancelled", "unmatched", "ok", ...KINDS])];

function parseQuantity(text, units, example) {
  const [, number, unit] = /^([\d.]+)\s*([a-zµ]*)$/i.exec(text) ?? [];
  const factor = units[unit?.toLowerCase()];
  if (factor === undefined || Number.isNaN(Number(number))) throw new Error(`expected a number and a unit, as in ${example}`);
  return Number(number) * factor;
}

function parseRange(text) {
  const [, from, to] = /^([\d.]*)-([\d.]*)$/.exec(text) ?? [];
  if (from === undefined || Number.isNaN(Number(from)) || Number.isNaN(Number(to))) {
    throw new Error("expected seconds from and to, as in time:1.5-3");
  }
  return [from === "" ? 0 : Number(from) * 1e6, to === "" ? Infinity : Number(to) * 1e6];
}

/**
 * A predicate for `name:value`, or null if there is no such name. It is called with a row, and with whether that stands
 * for the whole exchange, as on the timeline, or for the message alone.
 */
function namedTerm(recording, name, value) {
  const wanted = value.toLowerCase();
  const includes = (text) => text.toLowerCase().includes(wanted);
  switch (name) {
    case "method":
      return (row) => includes(recording.labels(row)[0]);
    case "tool":
      return (row) => includes(recording.labels(row)[1]);
    case "id":
      return (row) => {
        const id = recording.ids[row] ?? recording.ids[recording.call[row]];
        return id != null && (id === value || id === `"${value}"`);
      };
    case "from":
      if (!["client", "server"].includes(wanted)) throw new Error("expected from:client or from:server");
      return (row) => recording.isFromServer(row) === (wanted === "server") && !recording.isStderr(row);
    case "is":
      if (!IS.includes(wanted)) throw new Error(`expected is: and one of ${IS.join(", ")}`);
      return (row, isExchange) => (isExchange ? isExchangeA : isMessageA)(recording, row, wanted === "error" ? "failed" : wanted);
    case "slower":
    case "faster": {
      const limit = parseQuantity(value, DURATION_UNITS, `${name}:100ms`);
      return (row) => {
        const latency = recording.call[row] < 0 ? -1 : recording.latency(recording.call[row]);
        return latency >= 0 && (name === "slower" ? latency >= limit : latency < limit);
      };
    }
    case "larger":
    case "smaller": {
      const limit = parseQuantity(value, SIZE_UNITS, `${name}:10kB`);
      const fits = (row) => !recording.isStderr(row) && (name === "larger" ? recording.size[row] >= limit : recording.size[row] < limit);
      return (row, isExchange) => fits(row) || (isExchange && recording.response[row] >= 0 && fits(recording.response[row]));
    }
    case "time": {
      const [from, to] = parseRange(value);
      return (row, isExchange) => {
        const end = recording.time[row] + (isExchange ? Math.max(0, recording.latency(row)) : 0);
        return recording.time[row] < to && end >= from;
      };
    }
    default:
      return null;
  }
}

function isMessageA(recording, row, what) {
  const call = recording.call[row];
  switch (what) {
    case "unmatched":
      return (recording.bits[row] & IS_UNMATCHED) !== 0;
    case "unanswered":
    case "cancelled":
      return call === row && recording.status(row) === what;
    case "failed":
      if (call < 0) return recording.kind(row) === ERROR;
    // Otherwise what became of the call.
    case "ok":
      return call >= 0 && recording.response[call] === row && recording.status(call) === what;
    default:
      return KINDS[recording.kind(row)] === what;
  }
}

function isExchangeA(recording, row, what) {
  const status = recording.status(row);
  const response = recording.response[row];
  return status === what || KINDS[recording.kind(row)] === what || (response >= 0 && KINDS[recording.kind(response)] === what);
}

/** A query: terms that need the columns alone, and texts that are also looked for in payloads. */
class Query {
  constructor(recording, text) {
    this.recording = recording;
    this.terms = [];
    this.texts = [];
    for (const [, minus, name, quoted, word] of text.matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi)) {
      const value = quoted ?? word;
      const matches = name && namedTerm(recording, name.toLowerCase(), value);
      if (matches) this.terms.push(minus ? (...args) => !matches(...args) : matches);
      else this.texts.push({ text: (name ? `${name}:${value}` : value).toLowerCase(), isWanted: !minus });
    }
  }

  get isEmpty() {
    return this.terms.length + this.texts.length === 0;
  }

  /** The texts to mark in payloads. */
  get marked() {
    return this.texts.filter(({ isWanted }) => isWanted).map(({ text }) => text);
  }

  /**
   * Finds the messages and the entries of the timeline that match, among the rows of a session. Lets the page react every
   * few milliseconds, and returns null if `isStale` then says that another query has taken over.
   */
  async find({ first, end }, isStale) {
    const { recording, terms, texts } = this;
    const messages = [];
    const timeline = [];
    let started = performance.now();
    const pause = async () => {
      await new Promise((resolve) => setTimeout(resolve));
      started = performance.now();
      return isStale();
    };
    /** One bit for each text that a row contains. */
    const hits = texts.length > 0 ? new Uint32Array(end - first) : null;
    for (let row = first; hits && row < end; row++) {
      if ((row & 63) === 0 && performance.now() - started > 12 && (await pause())) return null;
      hits[row - first] = this.textsIn(row);
    }
    const all = (found) => texts.every(({ isWanted }, at) => ((found >> at) & 1) === Number(isWanted));
    for (let row = first; row < end; row++) {
      if ((row & 1023) === 0 && performance.now() - started > 12 && (await pause())) return null;
      if (terms.every((matches) => matches(row, false)) && (!hits || all(hits[row - first]))) messages.push(row);
      if (!isOnTimeline(recording, row) || !terms.every((matches) => matches(row, true))) continue;
      const parts = [row, recording.response[row], ...(recording.between.get(row) ?? [])].filter((part) => part >= 0);
      if (!hits || all(parts.reduce((found, part) => found | hits[part - first], 0))) timeline.push(row);
    }
    return { messages, timeline };
  }

  /** One bit for each text, of the first 32, that a message or what is known of it contains. */
  textsIn(row) {
    const { recording } = this;
    const [method, tool] = recording.labels(row);
    const note = recording.notes.get(row) ?? [];
    const known = [method, tool, recording.ids[row] ?? "", ...note].join("\n").toLowerCase();
    let payload = null;
    let found = 0;
    this.texts.slice(0, 32).forEach(({ text }, at) => {
      let isThere = known.includes(text);
      if (!isThere) {
        payload ??= recording.payload(row).toLowerCase();
        isThere = payload.includes(text);
      }
      if (isThere) found |= 1 << at;
    });
    return found;
  }
}
