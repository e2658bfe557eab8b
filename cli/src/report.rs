//! What a format makes of each line.

use std::io;

use wireline::{Fault, Frame, Message};

use crate::session::Side;
use crate::source::Source;
use crate::summary::Summary;

/// Appends to a text what there is to say about each line: whole lines or nothing. Threads share it, so that all it knows is
/// where the lines come from.
pub(crate) trait Report: Sync {
    /// What follows comes from there.
    fn open(&mut self, source: &Source);

    /// What follows was sent by that side, if that is known.
    fn side(&mut self, from: Option<Side>);

    /// A line that is one message.
    fn message(&self, frame: &Frame<'_>, message: &Message<'_>, text: &mut Vec<u8>) -> io::Result<()>;

    /// A line that is a batch. All entries must be taken, as they are counted on the way.
    fn batch<'a>(
        &self,
        frame: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        text: &mut Vec<u8>,
    ) -> io::Result<()>;

    /// A line that is faulty. The line is empty if it was not kept.
    fn fault(&self, fault: &Fault, line: &[u8], text: &mut Vec<u8>) -> io::Result<()>;

    /// That was all.
    fn finish(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()>;
}

/// Makes nothing of it.
pub(crate) struct Quiet;

impl Report for Quiet {
    fn open(&mut self, _: &Source) {}

    fn side(&mut self, _: Option<Side>) {}

    fn message(&self, _: &Frame<'_>, _: &Message<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    fn batch<'a>(
        &self,
        _: &Frame<'_>,
        entries: impl Iterator<Item = Result<Message<'a>, Fault>>,
        _: &mut Vec<u8>,
    ) -> io::Result<()> {
        entries.for_each(drop);
        Ok(())
    }

    fn fault(&self, _: &Fault, _: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self, _: &Summary<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}
