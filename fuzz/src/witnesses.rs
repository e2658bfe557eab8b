//! Witnesses for [`differential`](crate::differential) that the library's own tests don't use.

use simd_json::Node;

use crate::differential::{Deviation, Testimony, Witness};

/// All witnesses.
pub const ALL: &[Witness] = &[SIMD_JSON, SONIC_RS];

const SIMD_JSON: Witness = Witness {
    name: "simd-json",
    refuses: &[Deviation::LoneSurrogate, Deviation::BeyondF64, Deviation::Beyond64Bits],
    ask: |text| {
        let mut text = text.to_vec();
        let Ok(tape) = simd_json::to_tape(&mut text) else { return Testimony::Refused };
        let Some(Node::Object { len, .. }) = tape.0.first() else { return Testimony::Json };
        let mut members = Vec::new();
        let mut at = 1;
        for _ in 0..*len {
            let Node::String(name) = tape.0[at] else { panic!("a name is not a string") };
            members.push((name.to_owned(), None));
            at += match tape.0[at + 1] {
                Node::Object { count, .. } | Node::Array { count, .. } => 2 + count,
                Node::String(_) | Node::Static(_) => 2,
            };
        }
        Testimony::Object(members)
    },
};

const SONIC_RS: Witness = Witness {
    name: "sonic-rs",
    refuses: &[Deviation::LoneSurrogate, Deviation::BeyondF64],
    ask: |text| {
        if sonic_rs::from_slice::<sonic_rs::Value>(text).is_err() {
            return Testimony::Refused;
        }
        if text.trim_ascii_start().first() != Some(&b'{') {
            return Testimony::Json;
        }
        let members = sonic_rs::to_object_iter(text).map(|member| {
            let (name, value) = member.expect("accepted above");
            (name.to_string(), Some(value.as_raw_str().to_owned()))
        });
        Testimony::Object(members.collect())
    },
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// The library's own tests run the seeds without these witnesses.
    #[test]
    fn agree_on_the_seeds() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/differential");
        let seeds: Vec<_> = fs::read_dir(corpus).unwrap().map(|seed| seed.unwrap().path()).collect();
        assert!(!seeds.is_empty());
        for seed in seeds {
            crate::differential::run(&fs::read(seed).unwrap(), super::ALL);
        }
    }
}
