//! The locks and atomics of code that several threads share: those of std, or of loom in its models.
//!
//! loom runs a model again and again, with every order in which its threads can take a lock or access an atomic, and
//! every value that a relaxed load can see. `.ci/proof loom` runs the models, which is the only time that
//! `wireline_loom` is set.

#[cfg(not(all(test, wireline_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(all(test, wireline_loom))]
pub(crate) use models::{Mutex, MutexGuard, atomic, check, spawn};

#[cfg(all(test, wireline_loom))]
mod models {
    use std::env;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use loom::model;
    pub(crate) use loom::sync::{Mutex, MutexGuard};
    use loom::thread::{Builder, JoinHandle};

    /// In words.
    const STACK: usize = 32 << 10;

    pub(crate) mod atomic {
        use std::mem;
        use std::ops::{Deref, DerefMut};

        pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

        /// loom's, with the `get_mut` of std's.
        pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

        impl AtomicU64 {
            pub(crate) fn new(value: u64) -> Self {
                Self(loom::sync::atomic::AtomicU64::new(value))
            }

            pub(crate) fn get_mut(&mut self) -> impl DerefMut<Target = u64> + '_ {
                let value = self.0.with_mut(|value| *value);
                Exclusive { value, atomic: &mut self.0 }
            }
        }

        impl Deref for AtomicU64 {
            type Target = loom::sync::atomic::AtomicU64;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        struct Exclusive<'a> {
            value: u64,
            atomic: &'a mut loom::sync::atomic::AtomicU64,
        }

        impl Deref for Exclusive<'_> {
            type Target = u64;

            fn deref(&self) -> &u64 {
                &self.value
            }
        }

        impl DerefMut for Exclusive<'_> {
            fn deref_mut(&mut self) -> &mut u64 {
                &mut self.value
            }
        }

        impl Drop for Exclusive<'_> {
            fn drop(&mut self) {
                let value = mem::take(&mut self.value);
                self.atomic.with_mut(|current| *current = value);
            }
        }
    }

    /// A thread with room for more than loom gives by default, which is too little to decode a message.
    pub(crate) fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        Builder::new().stack_size(STACK).spawn(run).unwrap()
    }

    /// Runs a model with every order of events in which running threads are interrupted `interruptions` times at most, or
    /// once more if `WIRELINE_LONG` is set. It fails if the model panics, or if all its threads wait.
    pub(crate) fn check(name: &str, interruptions: usize, model: impl Fn() + Send + Sync + 'static) {
        let mut builder = model::Builder::new();
        builder.max_threads = 4;
        builder.max_branches = 10_000;
        builder.preemption_bound = Some(interruptions + usize::from(env::var_os("WIRELINE_LONG").is_some()));
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        println!("{name}");
        let model = Arc::new(model);
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let model = Arc::clone(&model);
            spawn(move || model()).join().unwrap();
        });
        println!("{name}: {} orders", runs.load(Ordering::Relaxed));
    }
}
