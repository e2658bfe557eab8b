//! A pseudo-terminal to run a command on, and a screen that shows what its user would see.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub(crate) const COLUMNS: usize = 80;
pub(crate) const ROWS: usize = 24;

/// How long a test waits for a screen that should appear at once.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A pseudo-terminal of 80 columns and 24 rows.
pub(crate) struct Terminal {
    master: File,
    slave: File,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        Self::open_with(COLUMNS)
    }

    /// A terminal of another width. Use [`Screen::of_width`] for what it shows.
    pub(crate) fn open_with(columns: usize) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: ROWS as u16, ws_col: columns as u16, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        Self { master: master.into(), slave }
    }

    /// A standard stream of a command that runs on this terminal.
    pub(crate) fn stream(&self) -> Stdio {
        self.slave.try_clone().unwrap().into()
    }

    /// Starts a command with some streams on this terminal.
    pub(crate) fn spawn(self, mut command: Command) -> Session {
        let child = command.spawn().unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut output = self.master;
        let reader = std::thread::spawn({
            let written = Arc::clone(&written);
            move || {
                let mut buffer = [0; 4096];
                // Reading fails once no process has the terminal open.
                while let Ok(len @ 1..) = output.read(&mut buffer) {
                    written.lock().unwrap().extend_from_slice(&buffer[..len]);
                }
            }
        });
        Session { child, written, reader }
    }
}

/// A command on a terminal.
pub(crate) struct Session {
    pub(crate) child: Child,
    written: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Session {
    /// Everything written so far.
    pub(crate) fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// What the terminal shows now.
    pub(crate) fn screen(&self) -> Screen {
        Screen::of(&self.written())
    }

    /// Waits until the screen is as expected.
    pub(crate) fn wait_for(&self, is_expected: impl Fn(&Screen) -> bool) -> Screen {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let screen = self.screen();
            if is_expected(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "the expected screen did not appear:\n{}", screen.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of the command. Returns its status and everything written.
    pub(crate) fn finish(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        self.reader.join().unwrap();
        let written = std::mem::take(&mut *self.written.lock().unwrap());
        (status, String::from_utf8(written).unwrap())
    }
}

/// What a terminal shows. Nothing scrolls away, colours are ignored, and every character takes one column.
#[derive(Clone)]
pub(crate) struct Screen {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// The start of an incomplete escape sequence.
    sequence: String,
    /// How many lines were too long for the terminal.
    pub(crate) wraps: usize,
}

impl Screen {
    fn new(columns: usize) -> Self {
        Self { columns, lines: Vec::new(), row: 0, column: 0, sequence: String::new(), wraps: 0 }
    }

    pub(crate) fn of(written: &str) -> Self {
        Self::of_width(written, COLUMNS)
    }

    /// What a terminal of another width shows.
    pub(crate) fn of_width(written: &str, columns: usize) -> Self {
        let mut screen = Self::new(columns);
        written.chars().for_each(|character| screen.put(character));
        screen
    }

    /// The screen after each character.
    pub(crate) fn history(written: &str) -> impl Iterator<Item = Self> {
        written.chars().scan(Self::new(COLUMNS), |screen, character| {
            screen.put(character);
            Some(screen.clone())
        })
    }

    /// The lines without trailing blanks, and without empty lines at the end.
    pub(crate) fn lines(&self) -> Vec<String> {
        let trimmed = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        let mut lines: Vec<String> = self.lines.iter().map(trimmed).collect();
        lines.truncate(lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1));
        lines
    }

    pub(crate) fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// The row and the column of the cursor, from 0.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    fn put(&mut self, character: char) {
        if !self.sequence.is_empty() {
            self.sequence.push(character);
            let mut after = self.sequence[1..].chars();
            let is_complete = match after.next() {
                Some('[') => after.last().is_some_and(|last| ('@'..='~').contains(&last)),
                Some(']') => self.sequence.ends_with(['\x07', '\\']),
                _ => true,
            };
            if is_complete {
                let sequence = std::mem::take(&mut self.sequence);
                self.obey(&sequence);
            }
            return;
        }
        match character {
            '\x1b' => self.sequence.push(character),
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            '\x08' => self.column = self.column.saturating_sub(1),
            _ if character.is_control() => {}
            _ => {
                if self.column == self.columns {
                    (self.row, self.column) = (self.row + 1, 0);
                    self.wraps += 1;
                }
                let column = self.column;
                let line = self.line();
                line.resize(line.len().max(column + 1), ' ');
                line[column] = character;
                self.column += 1;
            }
        }
    }

    fn obey(&mut self, sequence: &str) {
        let Some(control) = sequence.strip_prefix("\x1b[") else { return };
        let (parameters, command) = control.split_at(control.len() - 1);
        let parameter = parameters.split(';').next().and_then(|first| first.parse::<usize>().ok());
        let distance = parameter.unwrap_or(1).max(1);
        let column = self.column;
        match (command, parameter.unwrap_or(0)) {
            ("A", _) => self.row = self.row.saturating_sub(distance),
            ("B", _) => self.row += distance,
            ("C", _) => self.column = (column + distance).min(self.columns - 1),
            ("D", _) => self.column = column.saturating_sub(distance),
            ("G", _) => self.column = (distance - 1).min(self.columns - 1),
            ("K", 0) => self.line().truncate(column),
            ("K", 1) => self.line().iter_mut().take(column + 1).for_each(|character| *character = ' '),
            ("K", _) => self.line().clear(),
            ("J", 0) => {
                self.line().truncate(column);
                self.lines.truncate(self.row + 1);
            }
            ("J", _) => self.lines.clear(),
            // Colours, and the visibility of the cursor.
            ("m" | "h" | "l", _) => {}
            _ => panic!("unknown escape sequence: {sequence:?}"),
        }
    }

    fn line(&mut self) -> &mut Vec<char> {
        self.lines.resize(self.lines.len().max(self.row + 1), Vec::new());
        &mut self.lines[self.row]
    }
}

/// Shows the screen as its user sees it.
impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n(cursor at {:?}, {} wraps)", self.text(), self.cursor(), self.wraps)
    }
}

#[test]
fn screen_shows_what_a_terminal_would() {
    for (written, shown) in [
        ("", ""),
        ("a\r\nb", "a\nb"),
        ("abc\rx", "xbc"),
        ("abc\r\x1b[Kx", "x"),
        ("abc\x1b[2K\rx", "x"),
        ("a\r\nb\x1b[1A\rx\x1b[1By", "x\nby"),
        ("a\r\nb\r\nc\x1b[2A\x1b[Jd", "ad"),
        ("\x1b[1;31mred\x1b[0m é\x1b[?25l", "red é"),
        ("\x1b]0;title\x07x", "x"),
        ("a\x1b[3Cb\x1b[2Gc", "ac  b"),
    ] {
        assert_eq!(Screen::of(written).text(), shown, "{written:?}");
    }
    let wide = Screen::of(&"x".repeat(COLUMNS + 1));
    assert_eq!((wide.lines().len(), wide.wraps, wide.cursor()), (2, 1, (1, 1)));
}
