//! What is counted. All contenders use this: they compete in how they find it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// How often something was called, and how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) requests: u64,
    pub(super) results: u64,
    pub(super) errors: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The index of a method and a name in `outcomes`. Without a name, that is empty.
    keys: HashMap<String, HashMap<String, usize>>,
    outcomes: Vec<Outcomes>,
    notifications: u64,
    /// What each request that waits for its response has called.
    waiting: HashMap<u64, usize>,
    /// Responses to earlier requests than the first, and whether they are errors.
    unmatched: Vec<(u64, bool)>,
}

impl Tally {
    pub(super) fn request(&mut self, id: u64, method: &str, name: Option<&str>) {
        let key = self.key(method, name.unwrap_or_default());
        self.outcomes[key].requests += 1;
        self.waiting.insert(id, key);
    }

    pub(super) fn notification(&mut self) {
        self.notifications += 1;
    }

    pub(super) fn response(&mut self, id: u64, is_error: bool) {
        match self.waiting.remove(&id) {
            Some(key) if is_error => self.outcomes[key].errors += 1,
            Some(key) => self.outcomes[key].results += 1,
            None => self.unmatched.push((id, is_error)),
        }
    }

    fn key(&mut self, method: &str, name: &str) -> usize {
        if let Some(key) = self.keys.get(method).and_then(|names| names.get(name)) {
            return *key;
        }
        self.outcomes.push(Outcomes::default());
        let key = self.outcomes.len() - 1;
        self.keys.entry(method.to_owned()).or_default().insert(name.to_owned(), key);
        key
    }

    /// Adds what was counted in the part of the file that follows.
    pub(super) fn followed_by(mut self, next: Self) -> Self {
        for &(id, is_error) in &next.unmatched {
            self.response(id, is_error);
        }
        let mut moved = HashMap::new();
        for (method, names) in &next.keys {
            for (name, &theirs) in names {
                let ours = self.key(method, name);
                let (sum, more) = (&mut self.outcomes[ours], next.outcomes[theirs]);
                sum.requests += more.requests;
                sum.results += more.results;
                sum.errors += more.errors;
                moved.insert(theirs, ours);
            }
        }
        self.waiting.extend(next.waiting.iter().map(|(&id, key)| (id, moved[key])));
        self.notifications += next.notifications;
        self
    }

    pub(super) fn set(&mut self, method: &str, name: &str, outcomes: Outcomes) {
        let key = self.key(method, name);
        self.outcomes[key] = outcomes;
    }

    pub(super) fn set_notifications(&mut self, count: u64) {
        self.notifications = count;
    }

    fn sorted(&self) -> BTreeMap<(&str, &str), Outcomes> {
        let all = self.keys.iter().flat_map(|(method, names)| {
            names.iter().map(|(name, &key)| ((method.as_str(), name.as_str()), self.outcomes[key]))
        });
        all.collect()
    }
}

impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        (self.sorted(), self.notifications, &self.unmatched) == (other.sorted(), other.notifications, &other.unmatched)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |field: fn(&Outcomes) -> u64| self.outcomes.iter().map(field).sum::<u64>();
        let (requests, results) = (sum(|outcomes| outcomes.requests), sum(|outcomes| outcomes.results));
        let (errors, kinds) = (sum(|outcomes| outcomes.errors), self.outcomes.len());
        let notifications = self.notifications;
        write!(
            f,
            "{requests} requests of {kinds} kinds, {results} results, {errors} errors, {notifications} notifications"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_make_a_whole() {
        type Step = fn(&mut Tally);
        let steps: [Step; 7] = [
            |tally| tally.request(1, "a", Some("x")),
            |tally| tally.request(2, "a", None),
            |tally| tally.response(2, true),
            |tally| tally.notification(),
            |tally| tally.request(3, "b", Some("x")),
            |tally| tally.response(1, false),
            |tally| tally.request(4, "a", Some("x")),
        ];
        let count = |steps: &[Step]| {
            let mut tally = Tally::default();
            steps.iter().for_each(|step| step(&mut tally));
            tally
        };
        let whole = count(&steps);
        let answered = Outcomes { requests: 2, results: 1, errors: 0 };
        assert_eq!(whole.sorted()[&("a", "x")], answered);
        assert_eq!(whole.to_string(), "4 requests of 3 kinds, 1 results, 1 errors, 1 notifications");
        for middle in 0..=steps.len() {
            let (first, second) = steps.split_at(middle);
            assert!(count(first).followed_by(count(second)) == whole, "{middle}");
        }
        assert!(count(&steps[..6]) != whole);
    }
}
