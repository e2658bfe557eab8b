//! Statistics by method, and by what its calls are about.

use std::collections::HashMap;
use std::ops::Index;
use std::time::Duration;

use super::Side;
use super::latencies::{Latencies, MAX_KEPT};
use super::log2_histogram::Log2Histogram;
use crate::terminal::escape_start;

/// How many methods and subjects of each side are told apart.
pub(super) const MAX_METHODS: usize = 512;

/// The longest name of a method or a subject that is told apart, in bytes.
const MAX_NAME_LEN: usize = 1024;

/// The longest name that is kept, in columns.
pub(super) const MAX_NAME_COLUMNS: usize = 1100;

/// Stands in for the method of a faulty request.
pub(super) const UNREADABLE: &str = "(unreadable)";

/// Stands in for all methods, or all subjects of a method, beyond the limits.
pub(super) const OTHERS: &str = "(others)";

/// Identifies a method or a subject within [`Methods`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MethodIndex(usize);

/// All methods that were called, and what their calls were about, in the order of their first call.
pub(crate) struct Methods {
    methods: Vec<Method>,
    indexes: [HashMap<String, MethodIndex>; 2],
    /// How many methods and subjects there are of each side.
    lens: [usize; 2],
    /// For how many more latencies there is room.
    room: usize,
}

impl Default for Methods {
    fn default() -> Self {
        Self { methods: Vec::new(), indexes: Default::default(), lens: [0; 2], room: MAX_KEPT }
    }
}

/// The calls of a method by one side, or those of them about one subject, and the responses to them.
pub(crate) struct Method {
    pub(crate) from: Side,
    /// The name as it is displayed, with the subject: `tools/call echo`. Escaped for a terminal.
    pub(crate) name: String,
    /// The name of the method alone, escaped for a terminal.
    pub(crate) method: String,
    /// What the calls are about, escaped for a terminal: `echo`.
    pub(crate) subject: Option<String>,
    /// The method that this is a part of, if it has a subject.
    pub(crate) parent: Option<MethodIndex>,
    subjects: HashMap<String, MethodIndex>,
    /// Whether a call can fail although it is answered with a result.
    pub(super) can_fail: bool,
    pub(crate) requests: u64,
    pub(crate) notifications: u64,
    /// Error responses, and results that say that the call has failed.
    pub(crate) failures: u64,
    /// The size of all requests, notifications and responses.
    pub(crate) bytes: u64,
    latencies: Latencies,
}

/// What the statistics need to know of a response.
#[derive(Clone, Copy)]
pub(super) struct ResponseInfo {
    pub(super) is_error: bool,
    /// Whether it has the member that marks the result of a failed call, if its method has such results.
    pub(super) says_failed: bool,
    pub(super) len: u64,
}

impl Methods {
    pub(crate) fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Method> {
        self.methods.iter()
    }

    /// All methods, without the subjects of their calls.
    pub(crate) fn without_subjects(&self) -> impl Iterator<Item = (MethodIndex, &Method)> {
        let indexed = self.methods.iter().enumerate().map(|(index, method)| (MethodIndex(index), method));
        indexed.filter(|(_, method)| method.parent.is_none())
    }

    /// The subjects of the calls of a method.
    pub(crate) fn subjects_of(&self, parent: MethodIndex) -> impl Iterator<Item = &Method> {
        self.methods.iter().filter(move |method| method.parent == Some(parent))
    }

    /// The index of a method, or of a subject of its calls, which is added if it is new.
    pub(super) fn index_of(
        &mut self,
        from: Side,
        name: &str,
        subject: Option<&str>,
        can_fail: impl FnOnce(&str) -> bool,
    ) -> MethodIndex {
        let method = match self.indexes[from as usize].get(name) {
            Some(index) => *index,
            None => {
                let name = self.known_or_others(from, name);
                match self.indexes[from as usize].get(name) {
                    Some(index) => *index,
                    None => {
                        let index = self.push(Method::new(from, name, None, None, can_fail(name)));
                        self.indexes[from as usize].insert(name.to_owned(), index);
                        index
                    }
                }
            }
        };
        let Some(subject) = subject.filter(|_| self[method].name != OTHERS) else { return method };
        if let Some(index) = self[method].subjects.get(subject) {
            return *index;
        }
        let subject = self.known_or_others(from, subject);
        if let Some(index) = self[method].subjects.get(subject) {
            return *index;
        }
        let index = self.push(Method::new(from, name, Some(subject), Some(method), self[method].can_fail));
        self.methods[method.0].subjects.insert(subject.to_owned(), index);
        index
    }

    /// Stands in for a new name, unless there is room for it.
    fn known_or_others<'a>(&mut self, from: Side, name: &'a str) -> &'a str {
        let len = &mut self.lens[from as usize];
        if *len >= MAX_METHODS || name.len() > MAX_NAME_LEN {
            return OTHERS;
        }
        *len += 1;
        name
    }

    fn push(&mut self, method: Method) -> MethodIndex {
        self.methods.push(method);
        MethodIndex(self.methods.len() - 1)
    }

    /// Changes a method, and the one that it is a part of.
    pub(super) fn update(&mut self, index: MethodIndex, change: impl Fn(&mut Method)) {
        let method = &mut self.methods[index.0];
        change(method);
        if let Some(MethodIndex(parent)) = method.parent {
            change(&mut self.methods[parent]);
        }
    }

    /// Adds a response to a method, and to the one that it is a part of.
    pub(super) fn add_response(&mut self, index: MethodIndex, response: ResponseInfo, latency: Option<Duration>) {
        let Self { methods, room, .. } = self;
        let parent = methods[index.0].parent;
        for MethodIndex(index) in [Some(index), parent].into_iter().flatten() {
            methods[index].add_response(response, latency, room);
        }
    }

    /// The latencies of all responses, in nanoseconds.
    pub(super) fn latencies(&self) -> Log2Histogram {
        let mut all = Log2Histogram::new();
        let methods = self.without_subjects().map(|(_, method)| method);
        methods.for_each(|method| method.latencies.add_to(&mut all));
        all
    }
}

impl Index<MethodIndex> for Methods {
    type Output = Method;

    fn index(&self, MethodIndex(index): MethodIndex) -> &Method {
        &self.methods[index]
    }
}

impl Method {
    fn new(from: Side, name: &str, subject: Option<&str>, parent: Option<MethodIndex>, can_fail: bool) -> Self {
        let label = subject.map_or_else(|| name.to_owned(), |subject| format!("{name} {subject}"));
        Self {
            from,
            name: escape_start(label.as_bytes(), MAX_NAME_COLUMNS).into_owned(),
            method: escape_start(name.as_bytes(), MAX_NAME_COLUMNS).into_owned(),
            subject: subject.map(|subject| escape_start(subject.as_bytes(), MAX_NAME_COLUMNS).into_owned()),
            parent,
            subjects: HashMap::new(),
            can_fail,
            requests: 0,
            notifications: 0,
            failures: 0,
            bytes: 0,
            latencies: Latencies::new(),
        }
    }

    /// The latency that this fraction of all responses did not exceed. `None` if no latency is known.
    pub(crate) fn latency(&self, quantile: f64) -> Option<Duration> {
        self.latencies.quantile(quantile).map(Duration::from_nanos)
    }

    /// Whether percentiles may be off by [`MAX_ERROR`](super::MAX_ERROR), because there were too many latencies.
    pub(crate) fn is_approximate(&self) -> bool {
        self.latencies.is_approximate()
    }

    /// Whether a response says that the call has failed.
    pub(super) fn is_failure(&self, response: ResponseInfo) -> bool {
        response.is_error || (self.can_fail && response.says_failed)
    }

    fn add_response(&mut self, response: ResponseInfo, latency: Option<Duration>, room: &mut usize) {
        self.bytes += response.len;
        self.failures += u64::from(self.is_failure(response));
        if let Some(latency) = latency {
            self.latencies.add(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX), room);
        }
    }
}
