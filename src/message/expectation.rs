//! What a dialect expects, in words.

use std::fmt;

use super::dialect::Permits;
use super::fault_kind::FaultKind;
use super::rules::Rules;

/// A rule that a message breaks, with the types that the dialect permits.
#[derive(Clone, Copy)]
pub(crate) struct Expectation {
    kind: FaultKind,
    dialect: &'static str,
    permits: Permits,
}

impl Expectation {
    pub(crate) fn new(kind: FaultKind, rules: &Rules) -> Self {
        Self { kind, dialect: rules.dialect.name, permits: rules.permits }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, dialect, permits } = self;
        match kind {
            FaultKind::InvalidVersion if permits.contains(Permits::VERSION_1) => {
                f.write_str(r#""jsonrpc" must be the string "2.0" or "1.0""#)
            }
            FaultKind::InvalidError if permits.contains(Permits::TEXT_ERRORS) => {
                let array = match permits.contains(Permits::ARRAY_ERRORS) {
                    true => "an array of an integer and a string, ",
                    false => "",
                };
                let object = r#"an object with an integer "code" and a string "message""#;
                write!(f, r#""error" must be {array}a string, or {object}"#)
            }
            FaultKind::InvalidParams if permits.contains(Permits::SCALAR_PARAMS) => {
                f.write_str(r#""params" must not be null"#)
            }
            FaultKind::InvalidParams => {
                let array = if permits.contains(Permits::ARRAY_PARAMS) { " or an array" } else { "" };
                write!(f, r#""params" must be an object{array} under {dialect} rules"#)
            }
            FaultKind::InvalidResult => write!(f, r#""result" must be an object under {dialect} rules"#),
            FaultKind::BatchNotAllowed => write!(f, "batches are not allowed under {dialect} rules"),
            kind => fmt::Display::fmt(kind, f),
        }
    }
}
