"""What an eye would see: measures the page, light and dark, as wide as a phone and as wide as a screen."""

# Functions of the page under test, each of which returns what is wrong.
MEASURES = r"""
const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0 && !one.closest(".unseen");

/** Headings whose text does not fit into their cell, or is not within the head. */
const cutHeadings = () => [...document.querySelectorAll(".grid-head > :not(.track), .stats thead button")].filter((one) => {
  if (!isSeen(one)) return false;
  const head = one.closest(".grid-head, thead");
  // Without the scroll bars, which may cover text.
  const { top, left } = head.getBoundingClientRect();
  const [bottom, right] = [top + head.clientTop + (head.clientHeight || Infinity), left + head.clientLeft + (head.clientWidth || Infinity)];
  const text = document.createRange();
  text.selectNodeContents(one);
  const box = text.getBoundingClientRect();
  return one.scrollWidth > one.clientWidth || (box.width > 0 && (box.top < top || box.bottom > bottom || box.right > right));
}).map((one) => one.innerText);

/** What can be scrolled sideways, although nothing is beyond its edge. */
const tooWide = () => [document.documentElement, ...document.querySelectorAll("body, header, #controls, #summary, #detail, .grid-head, .grid-body, .view.scrolled")]
  .filter((one) => isSeen(one) && one.scrollWidth > one.clientWidth).map((one) => one.id || one.className || one.tagName);

/** Texts that are hard to read on what is behind them: their contrast as WCAG defines it is less than 4.5. */
function faintTexts() {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const mixed = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    return context.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (colours) => {
    const [r, g, b] = [...mixed(colours)].map((part) => (part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrasts = new Map();
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const parent = text.parentElement;
    if (!text.data.trim() || parent.closest("script, style, noscript, option") || !isSeen(parent)) continue;
    const behind = [];
    for (let one = parent; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
    const colour = getComputedStyle(parent).color;
    if (colour === "rgba(0, 0, 0, 0)") continue;
    const key = [...behind, colour].join();
    if (!contrasts.has(key)) {
      const [low, high] = [luminance(behind), luminance([...behind, colour])].sort((a, b) => a - b);
      contrasts.set(key, (high + 0.05) / (low + 0.05));
    }
    if (contrasts.get(key) < 4.5) found.add(`${text.data.slice(0, 30)}: ${contrasts.get(key).toFixed(2)} (${colour})`);
  }
  return [...found];
}

const top = (selector) => document.querySelector(selector).getBoundingClientRect().top;

/** The cells of a column that are in sight, with whether they are whole and within the list. */
const cells = (view, column) => [...document.querySelectorAll(`#view-${view} .grid-row:not([hidden]) .${column}`)].filter((one) => one.innerText).map((one) => {
  const [cell, list] = [one.getBoundingClientRect(), one.closest(".view").getBoundingClientRect()];
  return [one.innerText, isSeen(one) && one.scrollWidth <= one.clientWidth && cell.left >= list.left && cell.right <= list.right];
});

/** For each tool in sight, how wide its bar is, in pixels. */
const bars = () => Object.fromEntries([...document.querySelectorAll("#view-timeline .grid-row:not([hidden])")].filter((row) => row.querySelector(".bar"))
  .map((row) => [row.querySelector(".tool")?.innerText, row.querySelector(".bar").getBoundingClientRect().width]));
"""

WIDTHS = {400: 800, 1400: 900}
TABS = ["timeline", "messages", "methods", "histograms"]


def test_looks(browser, page, shots):
    for width, height in WIDTHS.items():
        for theme in ["light", "dark"]:
            browser.resize(width, height)
            browser.set_dark(theme == "dark")
            browser.open(page)
            browser.wait("document.documentElement.dataset.searched === ''")
            look = Look(browser, shots, f"{theme}-{width}")
            look.opening(width)
            look.views(width)
            look.texts()
            look.cut_off()
    browser.set_dark(False)
    browser.resize(1400, 900)
    browser.open(page)
    test_words(browser)
    test_scales(browser)
    test_choices_by_keyboard(browser)


class Look:
    """The page in one theme and width."""

    def __init__(self, browser, shots, name):
        self.browser, self.shots, self.name = browser, shots, name

    def measure(self, expression):
        return self.browser.run(f"{MEASURES}\nreturn {expression};")

    def check(self, what):
        """Takes a screenshot, and checks what must hold everywhere."""
        self.browser.screenshot(f"{self.shots}/{self.name}-{what}.png")
        wrong = self.measure("({ cutHeadings: cutHeadings(), tooWide: tooWide(), faintTexts: faintTexts() })")
        assert not any(wrong.values()), f"{self.name} {what}: {wrong}"

    def opening(self, width):
        self.check("opening")
        # The second of three sessions is the largest.
        chosen = self.browser.get("[document.getElementById('session').value, document.getElementById('negotiated').textContent]")
        assert chosen[0] == "1" and "files 0.9.0" in chosen[1], chosen
        if width == 400:
            list, others = self.measure("[top('#view-timeline .grid-row'), [top('#totals'), top('#negotiated'), top('#activity')]]")
            assert list < 400 and list < min(others), f"{self.name}: the list starts at {list}, the rest at {others}"

    def views(self, width):
        browser = self.browser
        for tab in TABS:
            browser.click(f"#tab-{tab}")
            self.check(tab)
            if tab not in ["timeline", "messages"]:
                continue
            self.whole_cells(tab)
            browser.click(f"#view-{tab} .grid-row:nth-child(6)")
            self.check(f"{tab}-row")
            if width > 820:
                self.whole_cells(tab)
            browser.press(["\ue00c"])
            browser.wait("document.getElementById('detail').hidden")
        browser.click("#tab-timeline")

    def whole_cells(self, tab):
        """Latencies, and what became of a call, are never hidden or cut."""
        for column in ["latency", "status" if tab == "timeline" else "kind"]:
            cells = self.measure(f"cells('{tab}', '{column}')")
            assert len(cells) > 3 and all(is_whole for _, is_whole in cells), f"{self.name} {tab} {column}: {cells}"

    def texts(self):
        """A text of several lines is shown as such, also where it is an argument."""
        browser = self.browser
        for query, path in [("tool:read_file Notes", "result.content[0].text"), ('tool:write_file "fn main"', "params.arguments.content")]:
            browser.filter(query)
            browser.click("#view-timeline .grid-row")
            browser.run("[...document.querySelectorAll('.layouts button')].find((one) => one.innerText === 'Text').click()")
            shown = browser.wait("document.querySelector('#detail .text')?.innerText")
            assert "- second line, with a\ttab and an emoji: 🦀\n\n```rust\nfn main() {\n    println!(\"hello\");\n" in shown, shown
            assert browser.text("#detail .path") == path, browser.text("#detail .path")
            self.check(f"text-of-{'result' if 'result' in path else 'arguments'}")
            # The choice stays, until another is made.
            browser.press(["\ue00c"])
        browser.filter("tool:search")
        browser.click("#view-timeline .grid-row")
        assert browser.text("#detail .text") == "done"
        assert '"jsonrpc": "2.0",\n' in browser.text("#detail pre"), "a payload without text is indented"
        browser.run("[...document.querySelectorAll('.layouts button')].find((one) => one.innerText === 'Indented').click()")
        browser.press(["\ue00c"])
        browser.filter("")

    def cut_off(self):
        browser = self.browser
        choose_session(browser, 2)
        self.check("cut-off")
        self.whole_cells("timeline")
        notice = browser.text("#notice")
        assert "This recording is cut off" in notice and "line 111 is not a record" in notice, notice
        assert browser.get("[...document.querySelectorAll('#session option')].map((one) => one.text.endsWith('cut off'))") == [False, False, True]
        browser.filter("is:unanswered")
        browser.click("#view-timeline .grid-row")
        assert "The recording ends before its answer." in browser.text("#detail")
        browser.press(["\ue00c"])
        browser.filter("")
        choose_session(browser, 0)
        assert "cut off" not in browser.text("#notice")


def choose_session(browser, index):
    browser.run(f"const choice = document.getElementById('session'); choice.value = '{index}'; choice.dispatchEvent(new Event('change'));"
                "document.documentElement.dataset.searched = 'nothing yet'")
    browser.wait("document.documentElement.dataset.searched === ''")


def test_words(browser):
    """An error and a result that says so are both failed calls, wherever they are counted."""
    totals = browser.text("#totals")
    assert "failed\n2" in totals, totals
    assert browser.text("#chips button") == "Failed2", browser.text("#chips button")
    browser.filter("is:failed")
    assert browser.text("#count") == "2 calls"
    statuses = browser.get("[...document.querySelectorAll('#view-timeline .grid-row:not([hidden]) .status')].map((one) => one.innerText)")
    assert statuses == ["failed", "failed"], statuses
    browser.click("#tab-messages")
    kinds = browser.get("[...document.querySelectorAll('#view-messages .grid-row:not([hidden]) .kind')].map((one) => one.innerText)")
    assert kinds == ["failed", "failed"], kinds
    browser.filter("")
    browser.click("#tab-methods")
    column = browser.get("[...document.querySelectorAll('.stats th')].findIndex((one) => one.innerText === 'failed')")
    failed = browser.get(f"[...document.querySelectorAll('.stats tbody tr')].map((row) => Number(row.children[{column}].innerText) || 0)")
    assert sum(failed) == 2, failed
    browser.click("#tab-timeline")


def test_scales(browser):
    """A call of 30 s among calls of 2 ms: they can be told apart, unless the scale is true to time."""
    bars = lambda: browser.run(f"{MEASURES}\nreturn bars();")
    widths = {}
    for scale in ["compressed", "linear", "session"]:
        browser.run(f"const choice = document.getElementById('scale-choice'); choice.value = '{scale}'; choice.dispatchEvent(new Event('change'))")
        widths[scale] = bars()
    short = {scale: min(width for tool, width in drawn.items() if tool != "build") for scale, drawn in widths.items()}
    long = {scale: drawn["build"] for scale, drawn in widths.items()}
    assert short["compressed"] > 8 and long["compressed"] < 30 * short["compressed"], widths
    # Bars are never narrower than three pixels.
    assert short["linear"] < 3.5 and long["linear"] > 300, widths
    assert short["session"] < 3.5 and long["session"] < long["linear"], widths


def test_choices_by_keyboard(browser):
    """Arrow keys change the scale and the session, and don't move in the list."""
    browser.run("document.getElementById('scale-choice').focus()")
    before = browser.get("document.getElementById('scale-choice').value")
    browser.press(["\ue013"])
    after = browser.get("[document.getElementById('scale-choice').value, document.activeElement.id]")
    assert before == "session" and after == ["linear", "scale-choice"], after
