//! The page as a file: markup, style and script around the data, which is written as it comes.
//!
//! The data is a series of `<script type="application/json">` elements, each with the attribute `data-part`:
//!
//! - `rows`: an array of rows, as [`Row`] describes them
//! - `payloads`: an array with a string for each of these rows, which the page parses only when it needs it
//! - `session`: the end of a session, to which all rows since the previous one belong
//! - `summary`: comes last

use std::io::{self, Write};

use super::embed;

const PAGE: &str = include_str!("page/page.html");

const STYLE: &str = include_str!("page/style.css");

/// One script, in files of one idea each.
const SCRIPT: &str = concat!(
    include_str!("page/format.js"),
    include_str!("page/data.js"),
    include_str!("page/filter.js"),
    include_str!("page/payload.js"),
    include_str!("page/texts.js"),
    include_str!("page/grid.js"),
    include_str!("page/scale.js"),
    include_str!("page/timeline.js"),
    include_str!("page/overview.js"),
    include_str!("page/statistics.js"),
    include_str!("page/detail.js"),
    include_str!("page/main.js"),
);

/// What [`PAGE`] has instead of the style, the data and the script.
const MARKERS: [&str; 3] = ["{style}", "{data}", "{script}"];

/// The chunks in which rows and payloads are written: small enough that the page opens one without a pause.
const CHUNK_ROWS: usize = 1024;
const CHUNK_LEN: usize = 512 << 10;

/// A message, a batch, a fault, or a line of standard error.
pub(super) struct Row {
    /// Microseconds since the start of the session.
    pub(super) time: u64,
    /// The kind, and flags: see [`super::rows`].
    pub(super) bits: u32,
    /// The length in bytes.
    pub(super) len: u64,
    /// The index of the method in the summary's `labels`.
    pub(super) label: Option<u32>,
    /// JSON: the spelling of the id as a string, or `0`.
    pub(super) id: Vec<u8>,
    /// The request that this is, or that it belongs to, by its position among all requests.
    pub(super) request: Option<u64>,
    /// JSON: more about an error or a fault, or `0`.
    pub(super) note: Vec<u8>,
    /// JSON: which rules the message breaks, each as [`super::rows`] describes it. Empty if there are none.
    pub(super) findings: Vec<u8>,
}

impl Row {
    /// A row of which nothing else is known yet.
    pub(super) fn new(time: u64, bits: u32, len: u64) -> Self {
        let none = || b"0".to_vec();
        Self { time, bits, len, label: None, id: none(), request: None, note: none(), findings: Vec::new() }
    }
}

pub(super) struct Page<W> {
    output: W,
    written: u64,
    rows: Vec<u8>,
    payloads: Vec<u8>,
    /// The number of rows in the current chunk.
    chunk_rows: usize,
}

impl<W: Write> Page<W> {
    /// Writes everything that comes before the data.
    pub(super) fn new(output: W) -> io::Result<Self> {
        let mut page = Self { output, written: 0, rows: Vec::new(), payloads: Vec::new(), chunk_rows: 0 };
        let [before_style, before_data, ..] = split_page();
        page.write(before_style.as_bytes())?;
        page.write(STYLE.as_bytes())?;
        page.write(before_data.as_bytes())?;
        Ok(page)
    }

    /// The number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.written + (self.rows.len() + self.payloads.len()) as u64
    }

    pub(super) fn add(&mut self, row: &Row, payload: &[u8]) -> io::Result<()> {
        let Row { time, bits, len, label, id, request, note, findings } = row;
        self.rows.extend_from_slice(if self.chunk_rows == 0 { b"[[" } else { b",\n[" });
        let label = label.map_or(-1, i64::from);
        // Beyond 2^53 the page would read another number, but no recording has as many requests.
        let request = request.map_or(-1, |request| request as i64);
        write!(self.rows, "{time},{bits},{len},{label},")?;
        self.rows.extend_from_slice(id);
        write!(self.rows, ",{request},")?;
        self.rows.extend_from_slice(note);
        if !findings.is_empty() {
            self.rows.push(b',');
            self.rows.extend_from_slice(findings);
        }
        self.rows.push(b']');

        self.payloads.extend_from_slice(if self.chunk_rows == 0 { b"[" } else { b",\n" });
        embed::push_string(&mut self.payloads, payload);
        self.chunk_rows += 1;
        if self.chunk_rows >= CHUNK_ROWS || self.payloads.len() >= CHUNK_LEN {
            self.end_chunk()?;
        }
        Ok(())
    }

    /// Ends a session, which `json` describes.
    pub(super) fn end_session(&mut self, json: &[u8]) -> io::Result<()> {
        self.end_chunk()?;
        self.write_part("session", json)
    }

    /// Writes the summary and everything that comes after the data.
    pub(super) fn finish(mut self, summary: &[u8]) -> io::Result<()> {
        self.end_chunk()?;
        self.write_part("summary", summary)?;
        let [.., before_script, end] = split_page();
        self.write(before_script.as_bytes())?;
        self.write(SCRIPT.as_bytes())?;
        self.write(end.as_bytes())?;
        self.output.flush()
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        if self.chunk_rows == 0 {
            return Ok(());
        }
        self.chunk_rows = 0;
        for (part, json) in [("rows", std::mem::take(&mut self.rows)), ("payloads", std::mem::take(&mut self.payloads))]
        {
            self.write_part(part, &[&json[..], b"]"].concat())?;
        }
        Ok(())
    }

    fn write_part(&mut self, part: &str, json: &[u8]) -> io::Result<()> {
        debug_assert!(!json.contains(&b'<'));
        self.write(format!("<script type=\"application/json\" data-part=\"{part}\">").as_bytes())?;
        self.write(json)?;
        self.write(b"</script>\n")
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// The page between its markers.
fn split_page() -> [&'static str; 4] {
    let mut rest = PAGE;
    let [style, data, script] = MARKERS.map(|marker| {
        // A test checks that the markers are there.
        let (before, after) = rest.split_once(marker).unwrap_or((rest, ""));
        rest = after;
        before
    });
    [style, data, script, rest]
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn nothing_but_our_own_style_and_script_may_run() {
        for text in [STYLE, SCRIPT] {
            // As a browser reads it, which matters if Git has changed the line ends.
            let text = text.replace("\r\n", "\n");
            let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
            assert!(PAGE.contains(&hash), "page.html must name {hash} in its Content-Security-Policy");
        }
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--") && !STYLE.contains("</style"));
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("] {
            assert!(!SCRIPT.contains(sink), "{sink}");
        }
    }

    #[test]
    fn markers_come_once_and_in_order() {
        assert!(MARKERS.iter().all(|marker| PAGE.matches(marker).count() == 1));
        assert_eq!(split_page().concat().len(), PAGE.len() - MARKERS.concat().len());
    }
}
