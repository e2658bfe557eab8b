//! Which checks to run.

use std::str::FromStr;

use clap::ValueEnum;
use glob::Pattern;

use super::check::{Check, Level, Property};

/// Selects checks by name, property or level.
#[derive(Clone, Debug)]
pub(crate) enum Selector {
    Name(Pattern),
    Property(Property),
    Level(Level),
}

impl Selector {
    pub(crate) fn matches(&self, check: &Check) -> bool {
        match self {
            Self::Name(pattern) => pattern.matches(check.name),
            Self::Property(property) => check.property == *property,
            Self::Level(level) => check.level == *level,
        }
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(property) = Property::from_str(text, true) {
            return Ok(Self::Property(property));
        }
        if let Ok(level) = Level::from_str(text, true) {
            return Ok(Self::Level(level));
        }
        Pattern::new(text).map(Self::Name).map_err(|error| error.to_string())
    }
}

/// The checks that a command line selects, or a message about a selector that selects none.
pub(crate) fn select(
    checks: impl Iterator<Item = &'static Check>,
    selectors: &[Selector],
) -> Result<Vec<&'static Check>, String> {
    let checks: Vec<&Check> = checks.collect();
    for selector in selectors {
        if let Selector::Name(name) = selector
            && !checks.iter().any(|check| selector.matches(check))
        {
            return Err(format!("no check is called {name}: `wireline conform --list` lists them"));
        }
    }
    let is_selected = |check: &&Check| selectors.is_empty() || selectors.iter().any(|selector| selector.matches(check));
    Ok(checks.into_iter().filter(is_selected).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::checks;

    fn selected(selectors: &[&str]) -> Result<Vec<&'static str>, String> {
        let selectors: Vec<Selector> = selectors.iter().map(|text| text.parse().unwrap()).collect();
        select(checks::descriptions(), &selectors).map(|checks| checks.iter().map(|check| check.name).collect())
    }

    #[test]
    fn names_properties_and_levels() {
        let all = checks::descriptions().count();
        assert_eq!(selected(&[]).unwrap().len(), all);
        assert_eq!(selected(&["long-id"]).unwrap(), ["long-id"]);
        assert_eq!(selected(&["line-of-*", "crlf"]).unwrap().len(), 5);
        let [must, should] = ["must", "should"].map(|level| selected(&[level]).unwrap().len());
        assert!(must > should && must + should == all);
        assert!(selected(&["framing"]).unwrap().contains(&"crlf"));
        assert!(selected(&["no-such-check"]).is_err());
    }
}
