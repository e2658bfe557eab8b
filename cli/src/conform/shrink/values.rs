//! Simpler JSON values, the simplest first.

use serde_json::Value;

/// Values that are simpler than a JSON text, as JSON.
pub(super) fn simpler_values(json: &str) -> Vec<String> {
    // Numbers keep their spelling, unless they are shortened.
    if let Ok(number) = json.parse::<i128>() {
        return simpler_integers(number).map(|number| number.to_string()).collect();
    }
    match serde_json::from_str::<Value>(json) {
        Ok(value) => simpler(&value).iter().map(ToString::to_string).collect(),
        Err(_) => vec!["null".to_owned()],
    }
}

fn simpler(value: &Value) -> Vec<Value> {
    match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Bool(true) => vec![false.into()],
        Value::Number(number) => match number.as_i64() {
            Some(number) => {
                simpler_integers(number.into()).filter_map(|n| i64::try_from(n).ok()).map(Value::from).collect()
            }
            None => vec![0.into()],
        },
        Value::String(text) => simpler_strings(text).map(Value::from).collect(),
        Value::Array(elements) => {
            let mut all = shorter(elements.len()).map(|len| elements[..len].to_vec().into()).collect::<Vec<_>>();
            all.extend(shorter(elements.len()).map(|len| Value::from(elements[elements.len() - len..].to_vec())));
            for (at, element) in elements.iter().enumerate().take(8) {
                all.extend(simpler(element).into_iter().map(|simpler| {
                    let mut elements = elements.clone();
                    elements[at] = simpler;
                    elements.into()
                }));
            }
            all
        }
        Value::Object(members) => {
            let mut all = Vec::new();
            for name in members.keys().take(8) {
                let mut members = members.clone();
                members.remove(name);
                all.push(members.into());
            }
            for (name, member) in members.iter().take(8) {
                all.extend(simpler(member).into_iter().map(|simpler| {
                    let mut members = members.clone();
                    members.insert(name.clone(), simpler);
                    members.into()
                }));
            }
            all
        }
    }
}

/// Closer and closer to a number, from 0.
fn simpler_integers(number: i128) -> impl Iterator<Item = i128> {
    std::iter::successors(Some(number), |rest| Some(rest / 2))
        .take_while(|rest| *rest != 0)
        .map(move |rest| number - rest)
}

/// Shorter strings, and one of the same length that consists of one character.
fn simpler_strings(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let plain = "a".repeat(characters.len());
    let same = (plain != text).then_some(plain);
    let lens: Vec<usize> = shorter(characters.len()).collect();
    lens.into_iter().map(move |len| characters[..len].iter().collect()).chain(same)
}

/// Closer and closer to a length, from 0.
fn shorter(len: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(len), |rest| Some(rest / 2)).take_while(|rest| *rest != 0).map(move |rest| len - rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value where shrinking ends if only what fulfils a condition fails.
    fn smallest(json: &str, fails: impl Fn(&str) -> bool) -> String {
        let mut smallest = json.to_owned();
        let mut plays = 0;
        while let Some(simpler) = simpler_values(&smallest).into_iter().find(|simpler| {
            plays += 1;
            fails(simpler)
        }) {
            assert!(plays < 1000);
            smallest = simpler;
        }
        smallest
    }

    #[test]
    fn boundaries_are_found() {
        let long = format!("\"{}\"", "xyz".repeat(300));
        for (json, expected, fails) in [
            (
                long.as_str(),
                format!("\"{}\"", "a".repeat(21)),
                &(|json: &str| json.len() > 22) as &dyn Fn(&str) -> bool,
            ),
            ("123456789", "1001".to_owned(), &|json: &str| json.parse::<u64>().is_ok_and(|n| n > 1000)),
            ("[1,2,[\"abc\"]]", "[[\"a\"]]".to_owned(), &|json: &str| json.contains("[\"a")),
            ("{\"a\":1,\"b\":{\"c\":true}}", "{\"b\":{\"c\":true}}".to_owned(), &|json: &str| json.contains("true")),
            ("-9007199254740993", "-9007199254740993".to_owned(), &|json: &str| {
                json.parse::<i64>().is_ok_and(|n| n < -9_007_199_254_740_992)
            }),
        ] {
            assert_eq!(smallest(json, fails), expected);
        }
    }
}
