
// Payloads, indented and coloured by token. The text itself is not parsed: numbers, escapes and members that appear twice
// stay as they were sent.

const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/gsu;

/** Longer payloads are shown without colours. */
const MAX_COLOURED = 300000;

/** Calls `write(text, class)` for each piece of a JSON text, indented. */
function indent(json, write) {
  const tokens = json.match(TOKEN) ?? [];
  let depth = 0;
  const newLine = () => write(`\n${"  ".repeat(Math.min(depth, 64))}`, "");
  tokens.forEach((token, at) => {
    const next = tokens[at + 1];
    switch (token) {
      case "{":
      case "[":
        write(token, "");
        if (next === "}" || next === "]") break;
        depth++;
        newLine();
        break;
      case "}":
      case "]":
        if (tokens[at - 1] !== "{" && tokens[at - 1] !== "[") {
          depth = Math.max(0, depth - 1);
          newLine();
        }
        write(token, "");
        break;
      case ",":
        write(token, "");
        newLine();
        break;
      case ":":
        write(": ", "");
        break;
      default:
        write(token, token[0] !== '"' ? (/^[-\d]/.test(token) ? "n" : "w") : next === ":" ? "k" : "s");
    }
  });
}

/** Whether a payload is worth indenting: text that is not JSON stays as it is. */
const looksLikeJson = (text) => /^\s*[[{]/.test(text);

/** Fills an element with a payload. */
function showPayload(pre, text, { isIndented, marked }) {
  pre.replaceChildren();
  const isJson = looksLikeJson(text);
  if (text.length > MAX_COLOURED) {
    let shown = text;
    if (isIndented && isJson) {
      const pieces = [];
      indent(text, (piece) => pieces.push(piece));
      shown = pieces.join("");
    }
    appendText(pre, shown, true);
  } else if (isIndented && isJson) {
    indent(text, (piece, className) => {
      if (!className) {
        pre.append(piece);
        return;
      }
      const span = element("span", className);
      appendMarked(span, piece, marked);
      pre.append(span);
    });
  } else {
    appendMarked(pre, text, marked);
  }
}

/** Appends text in which some texts, in lower case, are marked. */
function appendMarked(parent, text, marked) {
  const lower = text.toLowerCase();
  // In a few scripts the lower case has another length, so positions would not fit.
  const wanted = lower.length === text.length ? marked.filter((part) => part && lower.includes(part)) : [];
  let from = 0;
  while (from < text.length) {
    const hits = wanted.map((part) => [lower.indexOf(part, from), part.length]).filter(([at]) => at >= 0);
    if (hits.length === 0) break;
    const [at, length] = hits.reduce((first, hit) => (hit[0] < first[0] ? hit : first));
    appendText(parent, text.slice(from, at), true);
    const mark = element("mark");
    appendText(mark, text.slice(at, at + length), true);
    parent.append(mark);
    from = at + length;
  }
  appendText(parent, text.slice(from), true);
}
