//! A keyed hash of ids. All spellings of one value have the same hash.
//!
//! Peers choose ids, so without a secret key they could choose ids that collide. This is SipHash-1-3, like the standard
//! library's, but hashes one contiguous slice, which for short ids takes half the time.

use std::hash::{BuildHasher, RandomState};

use crate::message::Id;

/// The secret key, chosen at random for each ledger. On wasm32-unknown-unknown it can be predicted: see
/// [`Config::in_flight`](crate::connection::Config::in_flight).
pub(super) struct HashKey {
    words: [u64; 2],
    unusual: RandomState,
}

impl HashKey {
    pub(super) fn random() -> Self {
        let state = RandomState::new();
        Self { words: [state.hash_one(0), state.hash_one(1)], unusual: state }
    }

    #[inline]
    pub(super) fn hash(&self, id: &Id<'_>) -> u64 {
        let json = id.as_json().as_bytes();
        match json {
            [b'"', text @ ..] if memchr::memchr(b'\\', text).is_none() => self.hash_bytes(json),
            [b'-', digits @ ..] | digits if is_plain(digits) && json != b"-0" => self.hash_bytes(json),
            _ => self.hash_unusual(id),
        }
    }

    /// The lower half of the hash, which is just as well distributed.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(super) fn hash32(&self, id: &Id<'_>) -> u32 {
        self.hash(id) as u32
    }

    /// Hashes an id with an unusual spelling as if it had the usual one.
    #[cold]
    fn hash_unusual(&self, id: &Id<'_>) -> u64 {
        if let Some(text) = id.as_str() {
            self.hash_bytes(format!("\"{text}\"").as_bytes())
        } else if let Some(integer) = id.as_i64().filter(|integer| integer.unsigned_abs() < 10_u64.pow(18)) {
            self.hash_bytes(integer.to_string().as_bytes())
        } else {
            self.unusual.hash_one(id)
        }
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        let [k0, k1] = self.words;
        let mut state = SipState([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            state.take(u64::from_le_bytes(*word));
        }
        state.take((bytes.len() as u64) << 56 | short_word(rest));
        state.0[2] ^= 0xff;
        (0..3).for_each(|_| state.round());
        state.0.into_iter().fold(0, |all, word| all ^ word)
    }
}

/// Whether these are at most 18 digits, so that [`Id::as_i64`] is always `Some`. JSON has no leading zeros, so this is
/// the only spelling of the integer without a fraction or an exponent.
#[inline]
fn is_plain(digits: &[u8]) -> bool {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    let (words, rest) = digits.as_chunks();
    let is_digits = |word: u64| {
        let upper = |word: u64| word & u64::from_ne_bytes([0xf0; 8]);
        // Adding six to '0' through '9' doesn't change the upper half of the byte.
        upper(word) == ZEROS && upper(word.wrapping_add(u64::from_ne_bytes([6; 8]))) == ZEROS
    };
    digits.len() <= 18
        && words.iter().all(|word| is_digits(u64::from_le_bytes(*word)))
        && is_digits(short_word(rest) | ZEROS << (8 * rest.len()))
}

/// Up to seven bytes as a word. Copying them to memory one by one would stall the load of the whole word.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two halves may overlap; the overlapping bytes are equal.
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4))
        }
        _ if bytes.is_empty() => 0,
        _ => byte(0) | byte(bytes.len() / 2) | byte(bytes.len() - 1),
    }
}

struct SipState([u64; 4]);

impl SipState {
    #[inline]
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v2 = v2.wrapping_add(*v3);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v1);
        *v0 = v0.wrapping_add(*v3);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hasher};

    use super::*;

    /// The standard library's hash, as long as that is SipHash-1-3.
    #[test]
    fn is_the_standard_hash() {
        let key = HashKey { words: [0, 0], unusual: RandomState::new() };
        let bytes: Vec<u8> = (0..100).collect();
        for len in 0..bytes.len() {
            let mut expected = DefaultHasher::new();
            expected.write(&bytes[..len]);
            assert_eq!(key.hash_bytes(&bytes[..len]), expected.finish(), "{len} bytes");
        }
    }

    #[test]
    fn plain_integers_are_digits() {
        for len in 0..20 {
            let digits: Vec<u8> = (b'0'..=b'9').cycle().take(len).collect();
            assert_eq!(is_plain(&digits), len <= 18);
            for at in 0..len {
                for other in (0..=u8::MAX).filter(|other| !other.is_ascii_digit()) {
                    let mut wrong = digits.clone();
                    wrong[at] = other;
                    assert!(!is_plain(&wrong), "{wrong:?}");
                }
            }
        }
    }

    #[test]
    fn each_key_hashes_in_its_own_way() {
        let id = Id::from(1);
        assert_ne!(HashKey::random().hash(&id), HashKey::random().hash(&id));
    }

    #[test]
    fn spellings_of_one_id_hash_alike() {
        let key = HashKey::random();
        for class in [
            &["1", "1.0", "1e0", "10e-1"][..],
            &["0", "-0", "0.0", "-0e7"],
            &["-5", "-5.0", "-50e-1"],
            &["\"a\"", "\"\\u0061\""],
            &["999999999999999999", "999999999999999999.0"],
            &["1000000000000000000", "1e18", "1000000000000000000.0"],
            &["18446744073709551615", "18446744073709551615.0"],
            &["-9999999999999999999", "-9999999999999999999.0"],
            &["123456789012345678901234567890", "12345678901234567890123456789e1"],
            &["1.5", "15e-1"],
            &["null"],
        ] {
            let hashes: Vec<_> = class.iter().map(|id| key.hash(&Id::parse(id).unwrap())).collect();
            assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{class:?}");
        }
        assert_ne!(key.hash(&Id::from(1)), key.hash(&Id::from("1")));
    }
}
