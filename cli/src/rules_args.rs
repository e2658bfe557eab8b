//! The options that say which lines are accepted, shared by all commands that read traffic.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};
use wireline::Rules;

use crate::judge;
use crate::protocol::Protocols;
use crate::units::parse_len;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// Protocol whose rules apply [default: what a recorded session says it speaks, otherwise json-rpc]
    #[arg(long, value_parser = DialectParser)]
    rules: Option<Dialect>,

    /// Longest accepted line in bytes; a suffix K, M or G multiplies by a power of 1024
    #[arg(long, value_name = "BYTES", value_parser = parse_max_len, default_value = "16M")]
    max_len: usize,

    /// Deepest accepted nesting of objects and arrays, from 1 to 1024
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 128)]
    max_depth: u16,
}

impl RulesArgs {
    pub(crate) fn rules(&self) -> Rules {
        self.limited(self.rules.unwrap_or(Dialect::JsonRpc))
    }

    /// Whether a protocol was asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.rules.is_some()
    }

    /// The rules that were asked for, or those of what a session speaks.
    pub(crate) fn rules_of(&self, spoken: judge::Dialect) -> Rules {
        if self.is_given() {
            return self.rules();
        }
        let rules = self.limited(match spoken {
            judge::Dialect::JsonRpc => Dialect::JsonRpc,
            judge::Dialect::Mcp(_) => Dialect::Mcp,
            judge::Dialect::Acp => Dialect::Acp,
        });
        if spoken.is_mcp_with_batches() { rules.batches(true) } else { rules }
    }

    /// The protocol that the rules are for.
    pub(crate) fn dialect(&self) -> Dialect {
        self.rules.unwrap_or(Dialect::JsonRpc)
    }

    fn limited(&self, dialect: Dialect) -> Rules {
        dialect.rules().max_line_len(self.max_len).max_depth(self.max_depth.into())
    }

    /// The protocols whose messages are understood beyond their envelope.
    pub(crate) fn protocols(&self) -> Protocols {
        match self.rules {
            None | Some(Dialect::JsonRpc) => Protocols::ANY,
            Some(Dialect::Mcp) => Protocols::MCP,
            Some(Dialect::Acp) => Protocols::ACP,
        }
    }

    /// The protocols whose rules sessions are judged by, beyond those of JSON-RPC.
    pub(crate) fn judged_protocols(&self) -> Protocols {
        match self.rules {
            Some(Dialect::JsonRpc) => Protocols::NONE,
            _ => self.protocols(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// JSON-RPC 2.0 as specified
    JsonRpc,
    /// Model Context Protocol: string or integer ids, objects as params and results, no batches
    Mcp,
    /// Agent Client Protocol: string, integer or null ids, no batches
    Acp,
}

impl Dialect {
    pub(crate) fn rules(self) -> Rules {
        match self {
            Self::JsonRpc => Rules::json_rpc(),
            Self::Mcp => Rules::mcp(),
            Self::Acp => Rules::acp(),
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", PossibleValue::get_name))
    }
}

/// Parses a [`Dialect`], and tells the right spelling of one in capitals.
#[derive(Clone)]
pub(crate) struct DialectParser;

impl TypedValueParser for DialectParser {
    type Value = Dialect;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Dialect, clap::Error> {
        EnumValueParser::<Dialect>::new().parse_ref(command, arg, value).map_err(|mut error| {
            let meant = value.to_str().and_then(|value| <Dialect as ValueEnum>::from_str(value, true).ok());
            if let Some(meant) = meant {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(meant.to_string()));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Dialect::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

const MAX_LEN_LIMIT: u64 = 4 << 30;

fn parse_max_len(text: &str) -> Result<usize, String> {
    match parse_len(text)? {
        len @ 1..=MAX_LEN_LIMIT => Ok(usize::try_from(len).unwrap_or(usize::MAX)),
        _ => Err("expected a length from 1 byte to 4G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_len_is_bounded() {
        for (text, len) in [("1", 1), ("16M", 16 << 20), ("4G", usize::try_from(4_u64 << 30).unwrap_or(usize::MAX))] {
            assert_eq!(parse_max_len(text), Ok(len), "{text}");
        }
        for text in ["0", "0M", "5G", "4294967297"] {
            assert!(parse_max_len(text).is_err(), "{text}");
        }
    }
}
