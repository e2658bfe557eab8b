//! Tables of numbers in all the forms that JSON has.

use crate::envelope;
use crate::random::Random;

pub(crate) fn line(random: &mut Random) -> String {
    let len = random.around(16_800);
    let mut rows = String::new();
    while rows.len() < len {
        let row: Vec<_> = (0..random.between(4, 24)).map(|_| number(random)).collect();
        let comma = if rows.is_empty() { "" } else { "," };
        rows.extend([comma, "[", &row.join(","), "]"]);
    }
    envelope::response("result", &format!(r#"{{"content":[],"structuredContent":{{"rows":[{rows}]}}}}"#), random)
}

fn number(random: &mut Random) -> String {
    let sign = random.pick(&["", "", "-"]);
    match random.below(8) {
        0 => format!("{sign}{}", random.below(10)),
        1 | 2 => format!("{sign}{}", random.below(10_000)),
        3 => format!("{sign}{}", random.below(4_000_000_000)),
        4 => format!("{sign}{}.{:02}", random.below(1_000), random.below(100)),
        // Long fractions, as in the results of divisions.
        5 => format!("{sign}0.{:08}{:08}", random.below(100_000_000), random.below(100_000_000)),
        6 => format!("{sign}{}.{}e{}{}", random.below(10), random.below(10_000), sign, random.below(300)),
        _ => format!("{sign}{}E+{}", random.between(1, 99), random.below(20)),
    }
}
