//! Where masks are kept.
#![allow(unsafe_code)]

use std::arch::asm;

/// The same mask, in a general register.
///
/// Without this the compiler computes some of the operations on masks in vector or mask registers, where they take several
/// instructions instead of one.
#[inline(always)]
pub(super) fn general(mut mask: u64) -> u64 {
    // SAFETY: there is no instruction, only the requirement that the value be in a register.
    unsafe { asm!("/* {0} */", inout(reg) mask, options(pure, nomem, nostack, preserves_flags)) };
    mask
}
