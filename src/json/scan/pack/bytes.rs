//! Tokens as their first bytes, in memory.

use super::super::cpu::{BLOCK, Block, Masks, StructureMasks};
use super::{JUDGED, Pack, Tokens, ones};

/// How many bytes are copied at once, in a loop that the CPU predicts better than one over single bytes.
const STEP: usize = 8;

/// See the [module](self).
pub(in super::super) struct Bytes {
    /// The tokens, those of the last block that come after the 64th, and what the last step has copied too much.
    bytes: [u8; 2 * BLOCK + STEP],
}

impl<C: Masks> Pack<C> for Bytes {
    type Shapes = ();

    #[inline(always)]
    fn before_text(_: C, after_comma: bool) -> Self {
        let mut bytes = [0; 2 * BLOCK + STEP];
        bytes[..2].copy_from_slice(if after_comma { b"0," } else { b"0:" });
        Self { bytes }
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, ()) {
        (cpu.structural(block), ())
    }

    #[inline(always)]
    fn append(&mut self, _: C, block: &Block, (): (), mut tokens: u64, _: u64, count: u32) {
        let mut count = count as usize;
        while tokens != 0 {
            if let Some(step) = self.bytes[count..].first_chunk_mut::<STEP>() {
                for byte in step {
                    *byte = block[tokens.trailing_zeros() as usize % BLOCK];
                    tokens &= tokens.wrapping_sub(1);
                }
            }
            count += STEP;
        }
    }

    #[inline(always)]
    fn tokens(&self, cpu: C, count: u32) -> Tokens {
        let Some(bytes) = self.bytes.first_chunk() else { unreachable!() };
        let all = ones(count);
        let StructureMasks { open, close, curly, comma, colon } = cpu.structure(bytes);
        let string = cpu.quotes(bytes);
        Tokens {
            new: all & !ones(JUDGED),
            open: open & all,
            close: close & all,
            curly,
            comma: comma & all,
            colon: colon & all,
            string: string & all,
            scalar: all & !(open | close | comma | colon | string),
        }
    }

    #[inline(always)]
    fn restart(&mut self, _: C, count: u32) {
        let from = (count - JUDGED) as usize;
        if let Some(tokens) = self.bytes[from..].first_chunk::<{ BLOCK + 2 }>() {
            let tokens = *tokens;
            self.bytes[..tokens.len()].copy_from_slice(&tokens);
        }
    }
}
