
// The page: header, filter, tabs, and what connects them.

const TABS = ["timeline", "messages", "methods", "histograms"];

const MESSAGE_COLUMNS = [
  ["time", "time, s"],
  ["direction", ""],
  ["kind", "kind"],
  ["name", "method"],
  ["id", "id"],
  ["size number-cell", "size"],
  ["latency number-cell", "latency"],
  ["preview", "payload"],
];

const CHIPS = [
  ["Failed", "is:failed"],
  ["Faults", "is:fault"],
  ["Unanswered", "is:unanswered"],
  ["From server", "from:server"],
  ["Hide stderr", "-is:stderr"],
];

/** How much of the reason of a failure is in the notice at the top. */
const MAX_REASON = 100;

/** How much of a payload is shown in the list. */
const PREVIEW_LENGTH = 160;

/** Stands in for the session of an empty recording. */
const NO_SESSION = { start: 0, duration: 0, first: 0, end: 0, stderrLines: 0, traffic: [0, 1].map(() => ({ messages: 0, bytes: 0 })) };

class App {
  constructor(recording) {
    this.recording = recording;
    this.session = largest(recording.sessions) ?? NO_SESSION;
    this.found = { messages: [], timeline: [] };
    this.searches = 0;
    this.tab = "timeline";

    const open = (row) => this.detail.show(row);
    this.detail = new Detail(recording, () => this.grid?.body.focus());
    this.timeline = new Timeline(recording, byId("view-timeline"), open);
    this.messages = new Grid(byId("view-messages"), "Messages", MESSAGE_COLUMNS, (row, cells, item) => this.fillMessage(cells, item), { onOpen: open });
    this.methods = new MethodTable(recording, byId("view-methods"), ({ method, tool }) => {
      this.setQuery([`method:${quote(method)}`, tool && `tool:${quote(tool)}`].filter(Boolean).join(" "), "timeline");
    });
    this.histograms = new Histograms(recording, byId("view-histograms"), (query) => this.addToQuery(/\b(slower|faster|larger|smaller):\S+/g, query));
    this.overview = new Overview(recording, (range) => {
      this.addToQuery(/\btime:\S+/g, range ? `time:${formatTime(range[0], 100)}-${formatTime(range[1], 100)}` : "");
    });

    this.listen();
    this.showHead();
    this.showSession();
    this.showTab("timeline");
  }

  /** The list that is in sight, if it is one. */
  get grid() {
    return { timeline: this.timeline.grid, messages: this.messages }[this.tab];
  }

  listen() {
    const filter = byId("filter");
    let delay = 0;
    filter.addEventListener("input", () => {
      clearTimeout(delay);
      delay = setTimeout(() => this.search(), 120);
    });
    byId("session").addEventListener("change", ({ target }) => {
      this.session = this.recording.sessions[target.value];
      this.showSession();
    });
    TABS.forEach((tab) => byId(`tab-${tab}`).addEventListener("click", () => this.showTab(tab)));
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || event.target.role !== "tab") return;
      this.showTab(TABS[(TABS.indexOf(this.tab) + step + TABS.length) % TABS.length]);
      byId(`tab-${this.tab}`).focus();
    });
    byId("scale-choice").addEventListener("change", ({ target }) => {
      this.timeline.scaleName = target.value;
      this.timeline.grid.draw();
    });
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    document.addEventListener("keydown", (event) => this.onKey(event));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const isTyping = event.target.matches("input[type=search], select, textarea");
    if (event.key === "Escape") {
      if (this.detail.isOpen) this.detail.close();
      else this.setQuery("");
      return;
    }
    if (isTyping) {
      // From the filter straight into the list.
      if (event.target !== byId("filter") || !this.grid) return;
      if (event.key !== "Enter" && event.key !== "ArrowDown") return;
      this.grid.body.focus();
      if (this.grid.current < 0) this.grid.select(0);
    } else if (event.key === "/") {
      byId("filter").select();
    } else if (event.key === "?") {
      byId("help").showModal();
    } else if (event.key >= "1" && event.key <= String(TABS.length)) {
      this.showTab(TABS[event.key - 1]);
      (this.grid?.body ?? byId(`tab-${this.tab}`)).focus();
    } else {
      return;
    }
    event.preventDefault();
  }

  showTab(tab) {
    this.tab = tab;
    for (const name of TABS) {
      const isShown = name === tab;
      const button = byId(`tab-${name}`);
      button.setAttribute("aria-selected", String(isShown));
      button.tabIndex = isShown ? 0 : -1;
      byId(`view-${name}`).hidden = !isShown;
    }
    byId("scale").hidden = tab !== "timeline";
    this.showFound();
  }

  showHead() {
    const { sessions, summary } = this.recording;
    byId("title").textContent = plain(summary.title);
    document.title = `${plain(summary.title)} – wireline report`;
    this.notices = [];
    if (summary.maxPayload === 0) this.notices.push("Payloads were left out of this page.");
    else if (summary.cutPayloads > 0) this.notices.push(`${counted(summary.cutPayloads, "payload")} cut to ${formatBytes(summary.maxPayload)}.`);
    if (summary.leftOutLines > 0) this.notices.push(`${counted(summary.leftOutLines, "line")} of standard error left out because the page is full.`);
    if (summary.leftOut > 0) this.notices.push(`${counted(summary.leftOut, "message")} left out because the page is full.`);
    if (summary.unreadable) this.notices.push(`Not all of the recording could be read: ${plain(summary.unreadable)}.`);
    byId("scale-choice").append(
      ...SCALES.map(([value, name, title]) => {
        const option = element("option", "", name);
        Object.assign(option, { value, title });
        return option;
      }),
    );
    if (sessions.length > 1) {
      byId("session-choice").hidden = false;
      byId("session").append(
        ...sessions.map((session, at) => {
          const cut = session.isCutOff ? ", cut off" : "";
          const option = element("option", "", `${at + 1}: ${formatStart(session)}, ${counted(messagesOf(session), "message")}${cut}`);
          option.value = String(at);
          option.selected = session === this.session;
          return option;
        }),
      );
    }
  }

  /** Shows the totals of a session, whatever the filter. */
  showSession() {
    const { recording, session } = this;
    const counts = { calls: 0, failed: 0, faults: 0, unanswered: 0, cancelled: 0, server: 0 };
    const latencies = [];
    for (let row = session.first; row < session.end; row++) {
      if (recording.kind(row) === FAULT) counts.faults++;
      if (!isOnTimeline(recording, row) || recording.isStderr(row)) continue;
      if (recording.isFromServer(row)) counts.server++;
      const status = recording.status(row);
      if (["failed", "unanswered", "cancelled"].includes(status)) counts[status]++;
      if (!(recording.bits[row] & IS_CALL)) continue;
      counts.calls++;
      if (recording.isAnswered(row)) latencies.push(recording.latency(row));
    }
    latencies.sort((a, b) => a - b);
    this.showNegotiated();
    const entry = (name, value, note = "", className = "") =>
      element("div", className, element("dt", "", name), element("dd", "", value, note && element("small", "", ` ${note}`)));
    const traffic = (name, { messages, bytes }) => entry(name, formatCount(messages), formatBytes(bytes));
    byId("totals").replaceChildren(
      entry("started", formatStart(session)),
      entry("duration", formatDuration(session.duration), session.isCutOff ? "cut off" : "", session.isCutOff ? "warn" : ""),
      traffic("→ from client", session.traffic[0]),
      traffic("← from server", session.traffic[1]),
      entry("calls", formatCount(counts.calls)),
      entry("failed", formatCount(counts.failed), "", counts.failed > 0 ? "bad" : ""),
      entry("faults", formatCount(counts.faults), "", counts.faults > 0 ? "bad" : ""),
      entry("unanswered", formatCount(counts.unanswered), "", counts.unanswered > 0 ? "warn" : ""),
      ...(counts.cancelled > 0 ? [entry("cancelled", formatCount(counts.cancelled))] : []),
      entry("p50 latency", latencies.length > 0 ? formatDuration(quantile(latencies, 0.5)) : "–"),
      entry("p99 latency", latencies.length > 0 ? formatDuration(quantile(latencies, 0.99)) : "–"),
    );
    const numbers = [counts.failed, counts.faults, counts.unanswered, counts.server, session.stderrLines];
    byId("chips").replaceChildren(
      ...CHIPS.slice(0, session.stderrLines > 0 ? undefined : -1).map(([title, term], at) => {
        const chip = element("button", "", title, element("span", "number", formatCount(numbers[at])));
        chip.type = "button";
        chip.dataset.term = term;
        chip.addEventListener("click", () => this.toggleTerm(term));
        return chip;
      }),
    );
    this.search();
  }

  /** Shows what client and server said of themselves, and what is odd about the session as a whole. */
  showNegotiated() {
    const { hellos = [], exit, isCutOff, hasReturns = [], isUnterminated = [], findings = [] } = this.session;
    const parts = ["client", "server"].flatMap((side, at) => {
      const hello = hellos[at];
      if (!hello) return [];
      const { protocol, version, program, capabilities } = hello;
      const tags = (capabilities ?? []).map((one) => element("span", "tag", plain(one)));
      const name = element("bdi", "", element("b", "", plain(program || "unnamed")));
      return [element("span", "", element("span", side, at === 0 ? "→ " : "← "), `${side} `, name, ` ${protocol} ${plain(version)} `, ...tags)];
    });
    if (exit) {
      const [code, signal] = exit;
      parts.push(element("span", "", signal === null ? `server exited with code ${code ?? "unknown"}` : `server was killed by signal ${signal}`));
    }
    byId("negotiated").replaceChildren(...parts);
    byId("negotiated").hidden = parts.length === 0;

    const notices = [...this.notices];
    if (isCutOff) notices.unshift("This recording is cut off: it lacks the end of this session. Calls without an answer may have been answered later.");
    ["client", "server"].forEach((side, at) => {
      if (hasReturns[at]) notices.push(`Lines of the ${side} end in CRLF, which strict readers refuse.`);
      if (isUnterminated[at] && !isCutOff) notices.push(`The last line of the ${side} has no line end, so its reader is still waiting for it.`);
    });
    for (const [from, severity, rule, evidence] of findings) notices.push(`${severity}, ${from}: ${evidence} [${rule}].`);
    byId("notice").replaceChildren(
      ...notices.map((notice) => element("p", "", notice)),
      ...this.failures().map((failure) => element("p", "reason", failure)),
    );
    byId("notice").hidden = byId("notice").children.length === 0;
  }

  /** The most frequent reason why calls of the session failed. */
  failures() {
    const { recording, session } = this;
    const counts = new Map();
    for (let row = session.first; row < session.end; row++) {
      if (!(recording.bits[row] & IS_CALL) || recording.status(row) !== "failed") continue;
      const [method, tool] = recording.labels(row);
      const name = [method, tool].filter(Boolean).join(" ");
      const text = [name, recording.reason(row)].filter(Boolean).join(": ");
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    const groups = [...counts].sort(([, a], [, b]) => b - a);
    if (groups.length === 0) return [];
    const [text, count] = groups[0];
    const first = plain(text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text);
    const times = count > 1 ? ` (${formatCount(count)} times)` : "";
    const others = groups.length > 1 ? `, and ${counted(groups.length - 1, "other reason")}` : "";
    return [`Failed: ${first}${times}${others}.`];
  }

  toggleTerm(term) {
    const words = byId("filter").value.split(/\s+/).filter(Boolean);
    const others = words.filter((word) => word !== term);
    this.setQuery((others.length < words.length ? others : [...words, term]).join(" "));
  }

  /** Replaces terms of the query. */
  addToQuery(replaced, term) {
    const rest = byId("filter").value.replace(replaced, "").replace(/\s+/g, " ").trim();
    this.setQuery([rest, term].filter(Boolean).join(" "));
  }

  setQuery(text, tab = this.tab) {
    byId("filter").value = text;
    if (tab !== this.tab) this.showTab(tab);
    this.search();
  }

  async search() {
    const text = byId("filter").value;
    const search = ++this.searches;
    let query;
    const error = byId("filter-error");
    try {
      query = new Query(this.recording, text);
      error.hidden = true;
    } catch (problem) {
      error.textContent = problem.message;
      error.hidden = false;
    }
    byId("filter").setAttribute("aria-invalid", String(!query));
    if (!query) return;
    for (const chip of byId("chips").children) {
      chip.setAttribute("aria-pressed", String(text.split(/\s+/).includes(chip.dataset.term)));
    }
    const isSlow = setTimeout(() => (byId("count").textContent = "searching…"), 150);
    const found = await query.find(this.session, () => search !== this.searches);
    clearTimeout(isSlow);
    if (!found) return;
    this.found = found;
    this.isFiltered = !query.isEmpty;
    this.detail.marked = query.marked;
    const [, range] = /\btime:(\S+)/.exec(text) ?? [];
    this.overview.show(this.session, range ? parseRange(range) : null);
    this.showFound();
    document.documentElement.dataset.searched = text;
  }

  /** Shows what the filter has found in the view that is in sight. */
  showFound() {
    const { found, recording, session, isFiltered } = this;
    const isMessage = (row) => !recording.isStderr(row);
    const calls = found.timeline.filter(isMessage);
    const messages = found.messages.filter(isMessage);
    const lines = found.messages.length - messages.length;
    const withLines = (text) => (lines > 0 ? `${text}, ${counted(lines, "line")} of stderr` : text);
    switch (this.tab) {
      case "timeline":
        this.timeline.show(found.timeline, session, isFiltered);
        byId("count").textContent = withLines(counted(calls.length, "call"));
        break;
      case "messages":
        this.messages.show(found.messages, isFiltered ? "No message matches the filter." : "This session has no messages.");
        byId("count").textContent = withLines(isFiltered ? `${formatCount(messages.length)} of ${formatCount(messagesOf(session))}` : counted(messages.length, "message"));
        break;
      case "methods": {
        const notifications = found.messages.filter((row) => recording.kind(row) === NOTIFICATION);
        this.methods.show([...found.timeline, ...notifications]);
        byId("count").textContent = counted(this.methods.groups.length, "method");
        break;
      }
      case "histograms":
        this.histograms.show({ messages, timeline: calls });
        byId("count").textContent = counted(messages.length, "message");
        break;
    }
  }

  fillMessage(cells, row) {
    const { recording } = this;
    const [time, direction, kindCell, name, id, size, latencyCell, preview] = cells;
    const kind = recording.kind(row);
    const isFailure = (recording.bits[row] & IS_FAILURE) !== 0;
    time.textContent = formatTime(recording.time[row]);
    showDirection(direction, recording.isFromServer(row));
    const kindName = isFailure || kind === ERROR ? "failed" : KINDS[kind];
    kindCell.textContent = kindName;
    kindCell.className = `kind kind-${kindName}`;
    showName(name, recording, row);
    id.textContent = plain(recording.ids[row] ?? "");
    size.textContent = formatBytes(recording.size[row]);
    const call = recording.call[row];
    const isResponse = call >= 0 && recording.response[call] === row;
    latencyCell.textContent = isResponse ? formatDuration(recording.latency(call)) : "";
    const note = recording.notes.get(row);
    if (note) preview.textContent = plain(kind === FAULT ? note[1] : recording.reasonText(note));
    else preview.textContent = kind === STDERR ? "" : plain(previewOf(kind, recording.payload(row)));
  }
}

/** What a message is about: the arguments of a call, its params or its result, without the envelope. */
function previewOf(kind, payload) {
  for (const member of kind === RESPONSE ? ['"result":'] : ['"arguments":', '"params":']) {
    const at = payload.indexOf(member);
    if (at >= 0) return payload.slice(at + member.length, at + member.length + PREVIEW_LENGTH);
  }
  return payload.slice(0, PREVIEW_LENGTH);
}

/** How many messages, batches and faults a session has. */
const messagesOf = ({ first, end, stderrLines }) => end - first - stderrLines;

/** The session with the most messages, the first of several. */
function largest(sessions) {
  return sessions.reduce((most, session) => (most && messagesOf(most) >= messagesOf(session) ? most : session), undefined);
}

/** A value as part of a query. */
const quote = (text) => (/[\s"]/.test(text) ? `"${text.replaceAll('"', "")}"` : text);

function formatStart({ start }) {
  const date = new Date(start * 1000);
  if (Number.isNaN(date.getTime())) return "unknown";
  return date.toLocaleString("sv", { dateStyle: "short", timeStyle: "medium" });
}

const THEMES = ["auto", "light", "dark"];

function listenToTheme(redraw) {
  const button = byId("theme");
  let theme = "auto";
  try {
    theme = localStorage.getItem("wireline-theme") ?? "auto";
  } catch {
    // A page in a restricted frame has no storage.
  }
  const apply = () => {
    if (!THEMES.includes(theme)) theme = "auto";
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = { auto: "◐ Auto", light: "☀ Light", dark: "☾ Dark" }[theme];
    button.ariaLabel = `Theme: ${theme}`;
    redraw();
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem("wireline-theme", theme);
    } catch {
      // Then it is forgotten.
    }
    apply();
  });
  apply();
}

{
  const started = performance.now();
  const app = new App(new Recording());
  for (const part of ["#overview", "#controls", "main"]) document.querySelector(part).hidden = false;
  byId("loading").hidden = true;
  listenToTheme(() => app.overview.draw());
  app.overview.draw();
  app.grid.draw();
  document.documentElement.dataset.ready = String(Math.round(performance.now() - started));
}
