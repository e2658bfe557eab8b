
// The panel with the payloads of an exchange: request, what came in between, response.

/** How many of the messages between a request and its response are shown. */
const MAX_BETWEEN = 50;

/** How payloads are shown: the one that was chosen last, wherever there is text in the payload. */
const LAYOUTS = [
  ["text", "Text"],
  ["indented", "Indented"],
  ["sent", "As sent"],
];

class Detail {
  constructor(recording, onClose) {
    this.recording = recording;
    this.onClose = onClose;
    this.panel = byId("detail");
    this.layout = "indented";
    this.marked = [];
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  close() {
    this.panel.hidden = true;
    this.onClose();
  }

  /** Shows the exchange that a row belongs to. */
  show(row) {
    const { recording } = this;
    this.row = row;
    const call = recording.call[row];
    const between = call < 0 ? [] : (recording.between.get(call) ?? []);
    const shown = between.filter((part, at) => at < MAX_BETWEEN || part === row);
    const response = call < 0 ? -1 : recording.response[call];
    const parts = (call < 0 ? [row] : [call, ...shown, response]).filter((part) => part >= 0);

    const title = element("h2");
    if (recording.isStderr(row)) title.append("Standard error");
    else showName(title, recording, call < 0 ? row : call);
    const close = element("button", "", "Close");
    close.type = "button";
    close.addEventListener("click", () => this.close());
    this.panel.replaceChildren(element("div", "detail-head", title, close), this.facts(row, call));
    if (call >= 0 && response < 0) {
      const isCancelled = recording.status(call) === "cancelled";
      this.panel.append(element("p", "remark", isCancelled ? "This request was cancelled, and not answered." : this.unanswered(call)));
    }
    for (const part of parts) {
      this.panel.append(this.part(part, part === row && parts.length > 1));
      if (part === shown.at(-1) && between.length > shown.length) {
        this.panel.append(element("p", "remark", `${counted(between.length - shown.length, "more message")} in between: see Messages.`));
      }
    }
    this.panel.hidden = false;
    this.panel.scrollTop = 0;
    const chosen = this.panel.querySelector(".part.chosen");
    if (chosen && row !== call) chosen.scrollIntoView({ block: "nearest" });
  }

  unanswered(call) {
    const { sessions } = this.recording;
    const isCutOff = sessions.some(({ first, end, isCutOff }) => isCutOff && first <= call && call < end);
    return isCutOff ? "The recording ends before its answer." : "This request was never answered.";
  }

  facts(row, call) {
    const { recording } = this;
    const list = element("dl", "facts");
    const add = (name, value, className = "") => list.append(element("dt", "", name), element("dd", className, value));
    const first = call < 0 ? row : call;
    if (recording.ids[first] !== null) add("id", plain(recording.ids[first]));
    add("from", recording.isFromServer(first) ? "server" : "client", recording.isFromServer(first) ? "server" : "client");
    add("sent at", `${formatTime(recording.time[first], 1)} s`);
    if (call >= 0) {
      const status = recording.status(call);
      add("status", STATUS_TEXT[status], `status-${status}`);
      const latency = recording.latency(call);
      if (latency >= 0) add("latency", formatDuration(latency));
    }
    return list;
  }

  part(row, isChosen) {
    const { recording } = this;
    const bits = recording.bits[row];
    const kind = recording.kind(row);
    const heading = element("h3", recording.isFromServer(row) ? "server" : "client");
    heading.append(recording.isFromServer(row) ? "← " : "→ ", KINDS[kind]);
    if (kind === NOTIFICATION) heading.append(" ", plain(recording.labels(row)[0]));
    heading.append(" ", element("small", "", `${formatTime(recording.time[row], 1)} s · ${formatBytes(recording.size[row])}`));
    const part = element("section", isChosen ? "part chosen" : "part", element("div", "part-head", heading));

    this.addTrouble(part, row);
    const text = recording.payload(row);
    if (text === "") {
      // An entry of a batch is in the batch, and a line of standard error may be empty.
      if (recording.size[row] > 0) part.append(element("p", "remark", "The payload is not in this page."));
      return part;
    }
    const payload = element("div", "payload");
    const texts = looksLikeJson(text) ? textsIn(text) : [];
    const layouts = LAYOUTS.filter(([layout]) => layout !== "text" || texts.length > 0);
    const buttons = layouts.map(([layout, title]) => {
      const button = element("button", "", title);
      button.type = "button";
      button.addEventListener("click", () => {
        this.layout = layout;
        show();
      });
      return button;
    });
    const isText = () => this.layout === "text" && texts.length > 0;
    const show = () => {
      const shown = this.layout === "text" && !isText() ? "indented" : this.layout;
      buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(layouts[at][0] === shown)));
      if (isText()) {
        showTexts(payload, texts, this.marked);
        return;
      }
      const pre = element("pre");
      pre.tabIndex = 0;
      pre.setAttribute("aria-label", `${KINDS[kind]} payload`);
      showPayload(pre, text, { isIndented: shown === "indented", marked: this.marked });
      payload.replaceChildren(pre);
    };
    const copy = element("button", "", "Copy");
    copy.type = "button";
    copy.addEventListener("click", () => {
      const isCopied = copyText(isText() ? texts.map((one) => one.text).join("\n") : text);
      copy.textContent = isCopied ? "Copied" : "Not copied";
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    part.firstChild.append(element("span", "layouts", ...buttons), copy);
    show();
    part.append(payload);
    if (bits & IS_CUT) {
      part.append(element("p", "remark", `Cut to ${formatBytes(recording.summary.maxPayload)} of ${formatBytes(recording.size[row])}: wireline report --max-payload keeps more.`));
    }
    return part;
  }

  addTrouble(part, row) {
    const { recording } = this;
    const note = recording.notes.get(row);
    const bits = recording.bits[row];
    const kind = recording.kind(row);
    if (kind === FAULT) {
      const [code, text, hint] = note;
      const trouble = element("p", "trouble", text, ` [${code}]`);
      if (hint) trouble.append(element("span", "hint", hint));
      part.append(trouble);
    } else if (bits & IS_FAILURE) {
      const trouble = element("p", "trouble", "The call failed: ");
      appendText(trouble, note[1]);
      part.append(trouble);
    } else if (kind === ERROR && note) {
      const trouble = element("p", "trouble", `error ${note[0]}: `);
      appendText(trouble, note[1]);
      part.append(trouble);
    }
    for (const [, severity, rule, evidence, see] of recording.findings.get(row) ?? []) {
      const finding = element("p", severity === "error" ? "trouble" : "remark", plain(evidence), ` [${rule}]`);
      if (see) finding.append(element("span", "hint", see));
      part.append(finding);
    }
    if (bits & IS_ENTRY) part.append(element("p", "remark", "An entry of a batch."));
  }
}

/** Copies text, also where the page is a local file. */
function copyText(text) {
  const area = element("textarea", "unseen");
  area.value = text;
  document.body.append(area);
  area.select();
  let isCopied = false;
  try {
    isCopied = document.execCommand("copy");
  } finally {
    area.remove();
  }
  return isCopied;
}
