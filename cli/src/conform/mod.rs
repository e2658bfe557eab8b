//! `wireline conform`: tests a server through its standard input and output.

mod args;
mod check;
mod checks;
mod outcome;
mod report;
mod selection;

pub(crate) use args::Args;
