
// The table by method and tool, and the histograms. Both show what the filter leaves.

/** The value that a fraction of the sorted values does not exceed. */
function quantile(sorted, fraction) {
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)];
}

/** Calls and notifications by side, method and tool. */
function groupByMethod(recording, rows) {
  const groups = new Map();
  for (const row of rows) {
    const kind = recording.kind(row);
    const isCall = (recording.bits[row] & IS_CALL) !== 0;
    if (!isCall && kind !== NOTIFICATION) continue;
    const [method, tool] = recording.labels(row);
    const key = `${recording.isFromServer(row)}\n${method}\n${tool}`;
    let group = groups.get(key);
    if (!group) {
      group = { method: method || "(unreadable)", tool, isFromServer: recording.isFromServer(row), count: 0, calls: 0, failed: 0, open: 0, bytes: 0, latencies: [] };
      groups.set(key, group);
    }
    group.count++;
    if (kind !== FAULT) group.bytes += recording.size[row];
    if (!isCall) continue;
    group.calls++;
    const status = recording.status(row);
    if (status === "failed") group.failed++;
    if (status === "unanswered") group.open++;
    if (recording.isAnswered(row)) {
      group.bytes += recording.size[recording.response[row]];
      group.latencies.push(recording.latency(row));
    }
  }
  for (const group of groups.values()) group.latencies.sort((a, b) => a - b);
  return [...groups.values()];
}

const noneIf = (isNone, text) => (isNone ? "–" : text());
const latencyColumn = (title, fraction) => [
  title,
  ({ latencies }) => (latencies.length === 0 ? -1 : quantile(latencies, fraction)),
  (value) => noneIf(value < 0, () => formatDuration(value)),
  "quantile",
];

/** Title, value to sort by, text, class. */
const METHOD_COLUMNS = [
  ["method", ({ isFromServer, method, tool }) => `${isFromServer} ${method} ${tool}`],
  ["messages", ({ count }) => count, formatCount],
  ["failed", ({ failed, calls }) => (calls === 0 ? -1 : failed), (value) => noneIf(value < 0, () => formatCount(value))],
  ["unanswered", ({ open, calls }) => (calls === 0 ? -1 : open), (value) => noneIf(value < 0, () => formatCount(value))],
  latencyColumn("p50", 0.5),
  latencyColumn("p90", 0.9),
  latencyColumn("p99", 0.99),
  latencyColumn("max", 1),
  ["bytes", ({ bytes }) => bytes, formatBytes],
];

class MethodTable {
  constructor(recording, view, onChoose) {
    this.recording = recording;
    this.view = view;
    this.onChoose = onChoose;
    this.sortedBy = { column: 1, isDescending: true };
  }

  show(rows) {
    this.groups = groupByMethod(this.recording, rows);
    this.draw();
  }

  draw() {
    const { column, isDescending } = this.sortedBy;
    const value = METHOD_COLUMNS[column][1];
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
    this.groups.sort((a, b) => (isDescending ? order(b, a) : order(a, b)));
    if (this.groups.length === 0) {
      this.view.replaceChildren(element("p", "empty", "No call or notification matches the filter."));
      return;
    }
    const heads = METHOD_COLUMNS.map(([title, , , className], at) => {
      const button = element("button", "", title, at === column ? (isDescending ? " ↓" : " ↑") : "");
      button.type = "button";
      button.addEventListener("click", () => {
        this.sortedBy = { column: at, isDescending: at === column ? !isDescending : at > 0 };
        this.draw();
        this.view.querySelectorAll("thead button")[at].focus();
      });
      const head = element("th", className, button);
      head.scope = "col";
      if (at === column) head.ariaSort = isDescending ? "descending" : "ascending";
      return head;
    });
    const body = this.groups.map((group) => {
      const cells = METHOD_COLUMNS.slice(1).map(([title, number, text, className]) => {
        const cell = element("td", className, text(number(group)));
        if ((title === "failed" || title === "unanswered") && number(group) > 0) cell.className = "bad";
        return cell;
      });
      const arrow = element("span", group.isFromServer ? "server" : "client", group.isFromServer ? "← " : "→ ");
      const button = element("button", "", arrow, plain(group.method));
      if (group.tool) button.append(" ", element("span", "tool", plain(group.tool)));
      button.type = "button";
      button.title = "Show these";
      button.addEventListener("click", () => this.onChoose(group));
      return element("tr", "", element("td", "", button), ...cells);
    });
    const table = element("table", "stats", element("thead", "", element("tr", "", ...heads)), element("tbody", "", ...body));
    this.view.replaceChildren(table);
  }
}

/** Boundaries 1, 2, 5, 10, 20, 50… from below the least value to above the greatest, at most 24. */
function boundaries(least, greatest) {
  const bounds = [];
  let power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (;;) {
    for (const factor of [1, 2, 5]) {
      const bound = factor * power;
      if (bounds.length > 0 && bounds.at(-1) > greatest) return bounds;
      if (factor * power * 2.5 >= least || bounds.length > 0) bounds.push(bound);
    }
    power *= 10;
  }
}

class Histograms {
  constructor(recording, view, onChoose) {
    this.recording = recording;
    this.view = view;
    this.onChoose = onChoose;
  }

  show({ messages, timeline }) {
    const { recording } = this;
    const calls = timeline.filter((row) => recording.bits[row] & IS_CALL && recording.isAnswered(row));
    const latencies = calls.map((row) => ({
      value: recording.latency(row),
      isBad: recording.status(row) === "failed",
    }));
    const sizes = messages.filter((row) => !(recording.bits[row] & IS_ENTRY)).map((row) => ({ value: recording.size[row], isBad: recording.isBad(row) }));
    this.view.replaceChildren(
      this.draw("Latencies", "answered call", latencies, formatDuration, (from, to) => `slower:${from}µs faster:${to}µs`),
      this.draw("Sizes", "message", sizes, formatBytes, (from, to) => `larger:${from}B smaller:${to}B`),
    );
  }

  draw(title, noun, values, format, query) {
    const section = element("section", "histogram", element("h2", "", title));
    if (values.length === 0) {
      section.append(element("p", "", `No ${noun} matches the filter.`));
      return section;
    }
    const sorted = values.map(({ value }) => value).sort((a, b) => a - b);
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map((fraction) => format(quantile(sorted, fraction)));
    const facts = `${counted(values.length, noun)}: p50 ${p50}, p90 ${p90}, p99 ${p99}, max ${format(sorted.at(-1))}`;
    section.append(element("p", "", facts));

    const bounds = boundaries(sorted[0], sorted.at(-1));
    const buckets = bounds.slice(1).map((to, at) => ({ from: at === 0 ? 0 : bounds[at], to, count: 0, bad: 0 }));
    for (const { value, isBad } of values) {
      const bucket = buckets.find(({ to }) => value < to) ?? buckets.at(-1);
      bucket.count++;
      if (isBad) bucket.bad++;
    }
    const most = Math.max(...buckets.map(({ count }) => count));
    const bars = buckets.map(({ from, to, count, bad }) => {
      const good = element("span", "column");
      const wrong = element("span", "column bad");
      const height = (part) => `${(part / most) * 100}%`;
      good.style.height = height(count - bad);
      wrong.style.height = height(bad);
      const amount = element("span", "amount", count > 0 ? formatCount(count) : "");
      const button = element("button", "", element("span", "stack", amount, wrong, good), element("span", "bound", format(from)));
      button.type = "button";
      const text = `${format(from)} to ${format(to)}: ${counted(count, noun)}${bad > 0 ? `, ${formatCount(bad)} failed or faulty` : ""}`;
      button.title = text;
      button.ariaLabel = text;
      button.addEventListener("click", () => this.onChoose(query(from, to)));
      return button;
    });
    section.append(element("div", bars.length > 6 ? "bars many" : "bars", ...bars));
    return section;
  }
}
