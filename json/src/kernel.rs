//! Which of the scanner's CPU-specific implementations to use.

use std::sync::OnceLock;

use super::scan::{Cpu, Scanner};

/// The best kernel that this CPU runs, detected once.
#[inline(always)]
pub(crate) fn current() -> Scanner {
    #[cfg(feature = "kernels")]
    if let Some(forced) = FORCED.get() {
        return forced;
    }
    static BEST: OnceLock<Scanner> = OnceLock::new();
    *BEST.get_or_init(|| Cpu::ALL.into_iter().find_map(Scanner::new).unwrap_or(Scanner::PORTABLE))
}

#[cfg(feature = "kernels")]
thread_local! {
    static FORCED: std::cell::Cell<Option<Scanner>> = const { std::cell::Cell::new(None) };
}

/// For tests and benchmarks, which run every kernel there is.
#[cfg(feature = "kernels")]
impl Cpu {
    /// Whether it runs here.
    pub fn is_available(self) -> bool {
        Scanner::new(self).is_some()
    }

    /// All kernels that run here.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|cpu| cpu.is_available())
    }

    /// What `run` returns if all scanning on this thread is done by this kernel meanwhile.
    ///
    /// # Panics
    ///
    /// The kernel doesn't run here.
    #[allow(clippy::panic, clippy::expect_used, reason = "for tests alone")]
    pub fn run<T>(self, run: impl FnOnce() -> T) -> T {
        struct Restore(Option<Scanner>);

        impl Drop for Restore {
            fn drop(&mut self) {
                FORCED.set(self.0);
            }
        }

        let scanner = Scanner::new(self).expect("a kernel that runs here");
        let _restore = Restore(FORCED.replace(Some(scanner)));
        run()
    }
}
