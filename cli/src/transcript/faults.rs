//! The lines about faults: few, however many faults there are.

use std::time::Duration;

use wireline::Fault;

use super::{Styles, Transcript};
use crate::findings::{EqualFaults, Likeness, LinePart, MAX_EQUAL, PrintedRun};
use crate::framing::{InFrame, Mistake, described};
use crate::session::Side;

/// How long to wait for more lines of a message that is printed over several lines.
pub(crate) const RUN_PAUSE: Duration = Duration::from_millis(200);

/// What is known of the faults so far.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether to write every fault, even if there are many equal ones.
    all: bool,
    run: Option<Run>,
    equal: EqualFaults,
}

/// Lines that look like messages printed over several lines, and have not been written about yet.
struct Run {
    from: Side,
    lines: PrintedRun,
    /// The first fault among them, and when it was seen.
    first: Fault,
    in_frame: Option<InFrame>,
    at: Duration,
    last_at: Duration,
}

impl Faults {
    pub(crate) fn new(all: bool) -> Self {
        Self { all, ..Self::default() }
    }
}

impl Transcript {
    /// Writes about a fault, or notes it for later. `line` is empty if it is not known.
    pub(super) fn add_fault(
        &mut self,
        from: Side,
        fault: &Fault,
        in_frame: Option<InFrame>,
        line: &[u8],
        is_entry: bool,
        at: Duration,
    ) {
        if self.faults.all {
            self.write_fault(from, fault, in_frame, is_entry, at);
            return;
        }
        let is_late = |run: &Run| at.saturating_sub(run.last_at) > RUN_PAUSE;
        if self.faults.run.as_ref().is_some_and(is_late) {
            // A recording is read faster than it was made.
            self.end_run();
        }
        let part = LinePart::new(fault, fault.line(), line);
        if let Some(run) = &mut self.faults.run
            && run.from == from
            && run.lines.add(part)
        {
            run.last_at = at;
            return;
        }
        self.end_run();
        if let Some(lines) = PrintedRun::start(part).filter(|_| !is_entry) {
            self.faults.run = Some(Run { from, lines, first: fault.clone(), in_frame, at, last_at: at });
            return;
        }
        let count = self.faults.equal.add(Some(from), Likeness::Fault(fault.kind(), fault.hint()));
        if count <= MAX_EQUAL {
            self.write_fault(from, fault, in_frame, is_entry, at);
        }
        self.announce_counting(count);
    }

    /// When to call [`end_run`](Self::end_run) unless something is added before.
    pub(crate) fn run_deadline(&self) -> Option<Duration> {
        self.faults.run.as_ref().map(|run| run.last_at + RUN_PAUSE)
    }

    /// Writes about lines that look like messages printed over several lines, if there are some.
    pub(crate) fn end_run(&mut self) {
        let Some(Run { from, lines, first, in_frame, at, .. }) = self.faults.run.take() else { return };
        let count = self.faults.equal.add(Some(from), Likeness::PrintedRun);
        if count > MAX_EQUAL {
            return;
        }
        if lines.is_single() {
            self.write_fault(from, &first, in_frame, false, at);
        } else {
            self.start_line(from.arrow(), "fault", false, at);
            let name = first.hint().map_or("", |hint| hint.name());
            self.add_wrapped_after(&format!("{lines} [{name}]"), self.styles.bad);
            self.write_hint(&first, in_frame);
        }
        self.announce_counting(count);
    }

    /// Ends the faults of a session: says how many were only counted.
    pub(crate) fn end_faults(&mut self, at: Duration) {
        self.end_run();
        for (from, more, name) in std::mem::take(&mut self.faults.equal).more() {
            self.start_line(from.map_or(' ', Side::arrow), "fault", false, at);
            self.add_wrapped_after(&format!("{more} [{name}]"), self.styles.bad);
        }
    }

    fn announce_counting(&mut self, count: u64) {
        if count == MAX_EQUAL {
            let text = format!("{count} faults like this so far: from now on they are only counted (--all shows all)");
            self.add_wrapped(&text, self.styles.dim);
        }
    }

    fn write_fault(&mut self, from: Side, fault: &Fault, in_frame: Option<InFrame>, is_entry: bool, at: Duration) {
        let Styles { bad, .. } = self.styles;
        self.start_line(from.arrow(), "fault", is_entry, at);
        self.add_wrapped_after(&format!("{} [{}]", described(fault, in_frame), fault.kind().name()), bad);
        self.write_hint(fault, in_frame);
    }

    fn write_hint(&mut self, fault: &Fault, in_frame: Option<InFrame>) {
        if let Some(hint) = Mistake::behind(fault, in_frame) {
            self.add_wrapped(&hint.to_string(), self.styles.accent);
        }
    }
}
