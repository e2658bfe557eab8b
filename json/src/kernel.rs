//! Selects the CPU-specific implementations.

use std::sync::OnceLock;

use super::escape::Escaper;
use super::scan::{Cpu, Scanner};

/// All implementations for one kind of CPU.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) scanner: Scanner,
    pub(crate) escaper: &'static Escaper,
}

impl Kernel {
    const PORTABLE: Self = Self { scanner: Scanner::PORTABLE, escaper: Escaper::PORTABLE };

    /// The kernel for `cpu`, if it runs here.
    pub(crate) fn new(cpu: Cpu) -> Option<Self> {
        Some(Self { scanner: Scanner::new(cpu)?, escaper: Escaper::new(cpu)? })
    }
}

/// The best kernel that this CPU runs, detected once.
#[inline(always)]
pub(crate) fn current() -> Kernel {
    #[cfg(any(test, feature = "kernels"))]
    if let Some(forced) = FORCED.get() {
        return forced;
    }
    static BEST: OnceLock<Kernel> = OnceLock::new();
    *BEST.get_or_init(|| Cpu::ALL.into_iter().find_map(Kernel::new).unwrap_or(Kernel::PORTABLE))
}

#[cfg(any(test, feature = "kernels"))]
thread_local! {
    static FORCED: std::cell::Cell<Option<Kernel>> = const { std::cell::Cell::new(None) };
}

/// For tests and benchmarks, which run every kernel there is.
#[cfg(any(test, feature = "kernels"))]
#[cfg_attr(not(feature = "kernels"), allow(unreachable_pub))]
impl Cpu {
    /// Whether its kernel runs here.
    pub fn is_available(self) -> bool {
        Kernel::new(self).is_some()
    }

    /// All CPUs whose kernels run here.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|cpu| cpu.is_available())
    }

    /// Calls `run` while this kernel does all scanning and escaping on this thread.
    ///
    /// # Panics
    ///
    /// If this machine doesn't support the kernel.
    #[allow(clippy::panic, clippy::expect_used, reason = "only for tests and benchmarks")]
    pub fn run<T>(self, run: impl FnOnce() -> T) -> T {
        struct Restore(Option<Kernel>);

        impl Drop for Restore {
            fn drop(&mut self) {
                FORCED.set(self.0);
            }
        }

        let kernel = Kernel::new(self).expect("a kernel that runs here");
        let _restore = Restore(FORCED.replace(Some(kernel)));
        run()
    }
}
