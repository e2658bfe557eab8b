//! Prevents panics from unwinding into C.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the result of `call`, or `otherwise` if it panics.
///
/// A panic is a bug in this library. Rust's panic hook has printed its location to stderr, and the handle that was in
/// use can still be freed.
#[inline(always)]
pub(crate) fn catch_panic<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => value,
        Err(payload) => {
            // Dropping the payload could panic again.
            mem::forget(payload);
            otherwise
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_value() {
        std::panic::set_hook(Box::new(|_| {}));
        assert_eq!(catch_panic(1, || panic!("on purpose")), 1);
        assert_eq!(catch_panic(1, || 2), 2);
        drop(std::panic::take_hook());
    }
}
