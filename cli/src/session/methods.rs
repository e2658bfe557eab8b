//! Statistics by method.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::Side;
use super::log2_histogram::Log2Histogram;
use crate::terminal::escape_start;

/// How many methods of each side are told apart.
pub(super) const MAX_METHODS: usize = 512;

/// The longest name of a method that is told apart, in bytes.
const MAX_NAME_LEN: usize = 1024;

/// The longest name of a method that is kept, in columns.
pub(super) const MAX_NAME_COLUMNS: usize = 64;

/// Stands in for the method of a faulty request.
pub(super) const UNREADABLE: &str = "(unreadable)";

/// Stands in for all methods beyond the limits.
pub(super) const OTHERS: &str = "(others)";

/// Identifies a method within [`Methods`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodIndex(usize);

/// All methods that were called, in the order of their first call.
#[derive(Default)]
pub(crate) struct Methods {
    methods: Vec<Method>,
    indexes: [HashMap<String, MethodIndex>; 2],
}

/// The calls of a method by one side, and the responses to them.
pub(crate) struct Method {
    pub(crate) from: Side,
    /// The name, escaped for a terminal.
    pub(crate) name: String,
    pub(crate) requests: u64,
    pub(crate) notifications: u64,
    pub(crate) errors: u64,
    /// The size of all requests, notifications and responses.
    pub(crate) bytes: u64,
    /// In nanoseconds, with two significant digits.
    latencies: Histogram<u32>,
    slowest: u64,
}

/// What the statistics need to know of a response.
#[derive(Clone, Copy)]
pub(super) struct ResponseInfo {
    pub(super) is_error: bool,
    pub(super) len: u64,
}

impl Methods {
    pub(crate) fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Method> {
        self.methods.iter()
    }

    /// The index of a method, which is added if it is new.
    pub(super) fn index_of(&mut self, from: Side, name: &str) -> MethodIndex {
        let indexes = &mut self.indexes[from as usize];
        if let Some(index) = indexes.get(name) {
            return *index;
        }
        let name = if indexes.len() < MAX_METHODS && name.len() <= MAX_NAME_LEN { name } else { OTHERS };
        *indexes.entry(name.to_owned()).or_insert_with(|| {
            self.methods.push(Method::new(from, name));
            MethodIndex(self.methods.len() - 1)
        })
    }

    /// The latencies of all responses, in nanoseconds.
    pub(super) fn latencies(&self) -> Log2Histogram {
        let mut all = Log2Histogram::new();
        for step in self.methods.iter().flat_map(|method| method.latencies.iter_recorded()) {
            all.add(step.value_iterated_to(), step.count_at_value().into());
        }
        all
    }
}

impl Index<MethodIndex> for Methods {
    type Output = Method;

    fn index(&self, MethodIndex(index): MethodIndex) -> &Method {
        &self.methods[index]
    }
}

impl IndexMut<MethodIndex> for Methods {
    fn index_mut(&mut self, MethodIndex(index): MethodIndex) -> &mut Method {
        &mut self.methods[index]
    }
}

impl Method {
    fn new(from: Side, name: &str) -> Self {
        Self {
            from,
            name: escape_start(name.as_bytes(), MAX_NAME_COLUMNS),
            requests: 0,
            notifications: 0,
            errors: 0,
            bytes: 0,
            latencies: Histogram::new(2).expect("hdrhistogram supports 0 to 5 significant digits"),
            slowest: 0,
        }
    }

    /// The latency that this fraction of all responses did not exceed. `None` if no latency is known.
    pub(crate) fn latency(&self, quantile: f64) -> Option<Duration> {
        // The histogram rounds up, possibly beyond the slowest response.
        let nanoseconds = self.latencies.value_at_quantile(quantile).min(self.slowest);
        (!self.latencies.is_empty()).then(|| Duration::from_nanos(nanoseconds))
    }

    pub(super) fn add_response(&mut self, response: ResponseInfo, latency: Option<Duration>) {
        self.bytes += response.len;
        self.errors += u64::from(response.is_error);
        if let Some(latency) = latency {
            let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1);
            // The histogram resizes itself, and fails only where that is beyond `usize`.
            let _ = self.latencies.record(nanoseconds);
            self.slowest = self.slowest.max(nanoseconds);
        }
    }
}
