//! Selects one of the scanner's CPU-specific implementations.

use std::sync::OnceLock;

use super::scan::{Cpu, Scanner};

/// The fastest kernel that this CPU supports, detected once.
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

/// For tests and benchmarks, which run every available kernel.
#[cfg(feature = "kernels")]
impl Cpu {
    /// Whether this machine supports the kernel.
    pub fn is_available(self) -> bool {
        Scanner::new(self).is_some()
    }

    /// All kernels that this machine supports.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|cpu| cpu.is_available())
    }

    /// Calls `run`, using this kernel for all scans on this thread in the meantime.
    ///
    /// # Panics
    ///
    /// If this machine doesn't support the kernel.
    #[allow(clippy::panic, clippy::expect_used, reason = "only for tests and benchmarks")]
    pub fn run<T>(self, run: impl FnOnce() -> T) -> T {
        struct Restore(Option<Scanner>);

        impl Drop for Restore {
            fn drop(&mut self) {
                FORCED.set(self.0);
            }
        }

        let scanner = Scanner::new(self).expect("a kernel that this machine supports");
        let _restore = Restore(FORCED.replace(Some(scanner)));
        run()
    }
}
