//! Keeps reports short: a message that was printed over several lines is one finding, and of many equal faults only the
//! first ones are reported.

mod equal_faults;
mod printed_run;

pub(crate) use equal_faults::{EqualFaults, Likeness, MAX_EQUAL};
pub(crate) use printed_run::{LinePart, PrintedRun};
