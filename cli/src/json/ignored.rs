//! What makes no difference between two texts.

use super::parts::{Kind, decoded, kind};
use super::pointer::PointerPattern;
use super::volatile::{VolatileKind, is_epoch, without};

#[derive(Clone, Debug, Default)]
pub(crate) struct Ignored {
    pub(crate) patterns: Vec<PointerPattern>,
    pub(crate) kinds: Vec<VolatileKind>,
}

impl Ignored {
    pub(super) fn covers(&self, path: &[String]) -> bool {
        self.patterns.iter().any(|pattern| pattern.covers(path))
    }

    /// What is left of a string or a number without the kinds of values that make no difference. `None` if there are none
    /// of them.
    pub(super) fn rest(&self, json: &str) -> Option<String> {
        if self.kinds.is_empty() {
            return None;
        }
        match kind(json) {
            Kind::String => {
                let text = decoded(json)?;
                let rest = without(&text, &self.kinds);
                (rest != text).then(|| rest.into_owned())
            }
            Kind::Number if self.kinds.contains(&VolatileKind::Time) && is_epoch(json) => Some(String::new()),
            _ => None,
        }
    }
}
