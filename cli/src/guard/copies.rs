//! What the client has sent, to recognise it when the server prints it: a log, or a terminal that echoes its input.

use std::collections::hash_map::RandomState;
use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher;

/// How many different methods of the client are remembered.
const MAX_METHODS: usize = 256;

/// How many notifications of the client are remembered.
const MAX_NOTIFICATIONS: usize = 64;

/// How much of a text is looked at.
const MAX_LEN: usize = 1 << 10;

#[derive(Default)]
pub(super) struct Copies {
    key: RandomState,
    methods: HashSet<String>,
    /// The lengths and fingerprints of the last notifications.
    notifications: VecDeque<(usize, u64)>,
}

impl Copies {
    pub(super) fn remember_method(&mut self, method: &str) {
        if self.methods.len() < MAX_METHODS && !self.methods.contains(method) {
            self.methods.insert(method.to_owned());
        }
    }

    pub(super) fn remember_notification(&mut self, text: &[u8]) {
        if self.notifications.len() == MAX_NOTIFICATIONS {
            self.notifications.pop_front();
        }
        self.notifications.push_back((text.len(), self.fingerprint(text)));
    }

    /// Whether the client may have called this method.
    pub(super) fn has_method(&self, method: &str) -> bool {
        self.methods.len() >= MAX_METHODS || self.methods.contains(method)
    }

    /// Whether the client has recently sent this notification.
    pub(super) fn has_notification(&self, text: &[u8]) -> bool {
        let mut like_it = self.notifications.iter().filter(|(len, _)| *len == text.len()).peekable();
        // Nearly all texts have another length.
        let fingerprint = like_it.peek().map(|_| self.fingerprint(text));
        like_it.any(|(_, other)| Some(*other) == fingerprint)
    }

    /// Identifies a text, in this session.
    pub(super) fn fingerprint(&self, text: &[u8]) -> u64 {
        self.key.hash_one((&text[..text.len().min(MAX_LEN)], text.len()))
    }
}
