//! What a format makes of each line.

use std::io;

use wireline::{Fault, Frame, Message};

use crate::output::Output;
use crate::source::Source;
use crate::tally::Tally;

/// Told of everything in order. Each method writes whole lines or nothing.
pub(crate) trait Report {
    /// What follows comes from there.
    fn open(&mut self, source: &Source);

    /// A line that is one message.
    fn message(&mut self, frame: &Frame<'_>, message: &Message<'_>, output: &mut Output) -> io::Result<()>;

    /// A line that is a batch. All entries must be taken, as they are counted on the way.
    fn batch<'a>(
        &mut self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        output: &mut Output,
    ) -> io::Result<()>;

    /// A line that is faulty. The line is empty if it was not kept.
    fn fault(&mut self, fault: &Fault, line: &[u8], output: &mut Output) -> io::Result<()>;

    /// That was all.
    fn finish(&mut self, tally: &Tally, output: &mut Output) -> io::Result<()>;
}

/// Makes nothing of it.
pub(crate) struct Quiet;

impl Report for Quiet {
    fn open(&mut self, _: &Source) {}

    fn message(&mut self, _: &Frame<'_>, _: &Message<'_>, _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn batch<'a>(
        &mut self,
        _: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        _: &mut Output,
    ) -> io::Result<()> {
        entries.for_each(drop);
        Ok(())
    }

    fn fault(&mut self, _: &Fault, _: &[u8], _: &mut Output) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _: &Tally, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
