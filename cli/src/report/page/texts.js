
// The texts within a payload: what is in `content[].text` and the like, as its reader sees it.

/**
 * The strings of a JSON text that are named `text` or have several lines, each with its path. Reads tokens rather than
 * parsing it, so that a payload that has been cut has texts too.
 */
function textsIn(json) {
  const texts = [];
  /** For each open array or object, its name or index in the one around it. */
  const path = [];
  /** For each of them, the index of the next element, or null in an object. */
  const indexes = [];
  let name = null;
  const tokens = json.match(TOKEN) ?? [];
  tokens.forEach((token, at) => {
    switch (token) {
      case "{":
      case "[":
        path.push(here());
        indexes.push(token === "[" ? 0 : null);
        break;
      case "}":
      case "]":
        path.pop();
        indexes.pop();
        break;
      case ",":
        if (indexes.at(-1) != null) indexes[indexes.length - 1]++;
        break;
      case ":":
        break;
      default: {
        if (token[0] !== '"') break;
        if (tokens[at + 1] === ":" && indexes.at(-1) === null) {
          name = unquote(token);
          break;
        }
        const isNamed = name === "text" && indexes.at(-1) === null;
        if (!isNamed && !token.includes("\\n")) break;
        const text = unquote(token);
        if (isNamed || text.includes("\n")) texts.push({ path: [...path, here()].join("").replace(/^\./, ""), text });
      }
    }
  });
  return texts;

  function here() {
    const index = indexes.at(-1);
    return index === undefined ? "" : index === null ? `.${name}` : `[${index}]`;
  }
}

/** The text of a JSON string, whose end may be missing. */
function unquote(token) {
  for (const whole of [token, `${token.replace(/\\(u[\da-f]{0,3})?$/i, "")}"`]) {
    try {
      return JSON.parse(whole);
    } catch {
      // It was cut, or never was JSON.
    }
  }
  return token;
}

/** Fills an element with texts, each under its path if there are several. */
function showTexts(parent, texts, marked) {
  parent.replaceChildren(
    ...texts.flatMap(({ path, text }) => {
      const pre = element("pre", "text");
      pre.tabIndex = 0;
      pre.setAttribute("aria-label", plain(path));
      appendMarked(pre, text, marked);
      return [element("p", "path", plain(path)), pre];
    }),
  );
}
