//! Decodes choices from the fuzzer's bytes.

use wireline::{AnswerWithoutId, Rules};

use super::common::Dialect;

/// Takes choices from the front of the fuzzer's bytes. Once these run out, every choice is zero.
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    pub fn byte(&mut self) -> u8 {
        match self.rest {
            [byte, rest @ ..] => {
                self.rest = rest;
                *byte
            }
            [] => 0,
        }
    }

    /// The next byte as a number, or `usual` if it is `~`.
    pub fn limit(&mut self, usual: usize) -> usize {
        match self.byte() {
            b'~' => usual,
            byte => byte.into(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The remaining bytes.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// The settings of [`Rules`], which can't be read from `Rules` itself.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub dialect: Dialect,
    pub batches: bool,
    pub skip_blank_lines: bool,
    pub salvage: bool,
    pub null_params: bool,
    pub answer: AnswerWithoutId,
    pub max_line_len: usize,
    pub max_depth: usize,
    pub max_batch_len: usize,
}

impl Settings {
    /// Chooses by five bytes: the dialect, switches and three limits. `0@~~~`, `1@~~~` and so on are the dialects'
    /// defaults.
    pub fn choose(choices: &mut Choices<'_>) -> Self {
        let dialect = Dialect::ALL[usize::from(choices.byte()) % Dialect::ALL.len()];
        let switches = choices.byte();
        let has_batches = matches!(dialect, Dialect::JsonRpc | Dialect::Electrum);
        Self {
            dialect,
            batches: has_batches != (switches & 1 != 0),
            skip_blank_lines: switches & 2 == 0,
            salvage: switches & 32 != 0,
            null_params: (dialect == Dialect::Codex) != (switches & 4 != 0),
            answer: match switches >> 3 & 3 {
                0 if !dialect.answers_without_id() => AnswerWithoutId::Never,
                0 | 2 => AnswerWithoutId::NullId,
                1 => AnswerWithoutId::Never,
                _ => AnswerWithoutId::OmitId,
            },
            max_line_len: choices.limit(16 << 20),
            max_depth: choices.limit(128),
            max_batch_len: choices.limit(1024),
        }
    }

    pub fn rules(&self) -> Rules {
        self.dialect
            .rules()
            .batches(self.batches)
            .skip_blank_lines(self.skip_blank_lines)
            .salvage(self.salvage)
            .null_params(self.null_params)
            .answer_without_id(self.answer)
            .max_line_len(self.max_line_len)
            .max_depth(self.max_depth)
            .max_batch_len(self.max_batch_len)
    }
}
