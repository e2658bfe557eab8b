//! The options that say which lines are accepted, shared by all commands that read traffic.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};
use wireline::Rules;

use crate::protocol::Protocols;
use crate::units::parse_len;

#[derive(Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// Protocol whose rules apply
    #[arg(long, value_parser = DialectParser, default_value_t = Dialect::JsonRpc)]
    rules: Dialect,

    /// Longest accepted line in bytes; a suffix K, M or G multiplies by a power of 1024
    #[arg(long, value_name = "BYTES", value_parser = parse_max_len, default_value = "16M")]
    max_len: usize,

    /// Deepest accepted nesting of objects and arrays, from 1 to 1024
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 128)]
    max_depth: u16,
}

impl RulesArgs {
    pub(crate) fn rules(&self) -> Rules {
        self.rules.rules().max_line_len(self.max_len).max_depth(self.max_depth.into())
    }

    /// The protocol that the rules are for.
    pub(crate) fn dialect(&self) -> Dialect {
        self.rules
    }

    /// The protocols whose messages are understood beyond their envelope.
    pub(crate) fn protocols(&self) -> Protocols {
        match self.rules {
            Dialect::JsonRpc => Protocols::ANY,
            Dialect::Mcp => Protocols::MCP,
            Dialect::Acp => Protocols::ACP,
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
