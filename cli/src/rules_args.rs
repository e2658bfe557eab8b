//! The options that say which lines are accepted, shared by all commands that read traffic.

use std::ffi::OsStr;
use std::fmt;
use std::marker::PhantomData;

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
    #[arg(long, value_parser = NameParser::<NamedRules>::new())]
    rules: Option<NamedRules>,

    /// Longest accepted line in bytes; a suffix K, M or G multiplies by a power of 1024
    #[arg(long, value_name = "BYTES", value_parser = parse_max_len, default_value = "16M")]
    max_len: usize,

    /// Deepest accepted nesting of objects and arrays, from 1 to 1024
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 128)]
    max_depth: u16,
}

impl RulesArgs {
    pub(crate) fn rules(&self) -> Rules {
        self.limited(self.rules.unwrap_or(NamedRules::JsonRpc))
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
            judge::Dialect::JsonRpc => NamedRules::JsonRpc,
            judge::Dialect::Mcp(_) => NamedRules::Mcp,
            judge::Dialect::Acp => NamedRules::Acp,
        });
        if spoken.is_mcp_with_batches() { rules.batches(true) } else { rules }
    }

    /// The protocol that the rules are for, JSON-RPC if it is none of those that commands tell apart.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.rules {
            Some(NamedRules::Mcp | NamedRules::Mcp20260728) => Dialect::Mcp,
            Some(NamedRules::Acp | NamedRules::AcpV2) => Dialect::Acp,
            None | Some(NamedRules::JsonRpc | NamedRules::Codex | NamedRules::Electrum | NamedRules::Stratum) => {
                Dialect::JsonRpc
            }
        }
    }

    fn limited(&self, named: NamedRules) -> Rules {
        named.rules().max_line_len(self.max_len).max_depth(self.max_depth.into())
    }

    /// The protocols whose messages are understood beyond their envelope.
    pub(crate) fn protocols(&self) -> Protocols {
        match self.rules {
            None | Some(NamedRules::JsonRpc) => Protocols::ANY,
            Some(NamedRules::Mcp | NamedRules::Mcp20260728) => Protocols::MCP,
            Some(NamedRules::Acp | NamedRules::AcpV2) => Protocols::ACP,
            Some(NamedRules::Codex | NamedRules::Electrum | NamedRules::Stratum) => Protocols::NONE,
        }
    }

    /// The protocols whose rules sessions are judged by, beyond those of JSON-RPC.
    pub(crate) fn judged_protocols(&self) -> Protocols {
        match self.rules {
            Some(NamedRules::JsonRpc) => Protocols::NONE,
            _ => self.protocols(),
        }
    }
}

/// The rules that `--rules` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NamedRules {
    /// JSON-RPC 2.0 as specified
    JsonRpc,
    /// Model Context Protocol: string or integer ids, objects as params and results, no batches
    Mcp,
    /// Model Context Protocol, revision 2026-07-28: what is sent has a resultType and no reserved error code
    #[value(name = "mcp-2026-07-28")]
    Mcp20260728,
    /// Agent Client Protocol: string, integer or null ids, no batches
    Acp,
    /// Agent Client Protocol, version 2: like acp, but a request's id can't be null
    AcpV2,
    /// App-server of OpenAI Codex: no jsonrpc member, string or integer ids, no batches
    Codex,
    /// Electrum protocol of Bitcoin wallets: JSON-RPC 1.0 and 2.0 mixed
    Electrum,
    /// Stratum v1 of Bitcoin miners: no jsonrpc member, null ids in notifications, errors as arrays
    Stratum,
}

impl NamedRules {
    fn rules(self) -> Rules {
        match self {
            Self::JsonRpc => Rules::json_rpc(),
            Self::Mcp => Rules::mcp(),
            Self::Mcp20260728 => Rules::mcp_2026_07_28(),
            Self::Acp => Rules::acp(),
            Self::AcpV2 => Rules::acp_v2(),
            Self::Codex => Rules::codex(),
            Self::Electrum => Rules::electrum(),
            Self::Stratum => Rules::stratum(),
        }
    }
}

/// The protocols that commands tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// JSON-RPC 2.0 as specified
    JsonRpc,
    /// Model Context Protocol: string or integer ids, objects as params and results, no batches
    Mcp,
    /// Agent Client Protocol: string, integer or null ids, no batches
    Acp,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name_of(self))
    }
}

fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Parses one of the names of `T`, and tells the right spelling of one in capitals.
pub(crate) struct NameParser<T>(PhantomData<fn() -> T>);

impl<T> NameParser<T> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Clone for NameParser<T> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<T: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        EnumValueParser::<T>::new().parse_ref(command, arg, value).map_err(|mut error| {
            let meant = value.to_str().and_then(|value| T::from_str(value, true).ok());
            if let Some(meant) = meant {
                error.insert(ContextKind::SuggestedValue, ContextValue::String(name_of(&meant)));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(T::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
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
