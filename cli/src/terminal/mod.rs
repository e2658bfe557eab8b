//! Text for a terminal: its width, its styles, and how untrusted bytes are escaped.

mod differing;
mod escape;
mod excerpt;
mod printable;
mod styles;
mod width;
mod wrap;

pub(crate) use differing::{Differing, common_len};
pub(crate) use escape::{columns, escape, escape_end, escape_start};
pub(crate) use excerpt::Excerpt;
pub(crate) use printable::{printable_columns, printable_json};
pub(crate) use styles::{Styles, has_color, set_color};
pub(crate) use width::Width;
pub(crate) use wrap::{wrap, wrap_message};
