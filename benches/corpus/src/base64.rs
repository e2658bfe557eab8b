//! Images in base64: one string makes up nearly the whole message.

use crate::envelope;
use crate::random::Random;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn line(random: &mut Random) -> String {
    let len = random.around(270_000).next_multiple_of(4);
    let mut data = String::with_capacity(len + 100);
    data.push_str(r#"{"content":[{"type":"image","data":""#);
    for _ in 0..len / 4 {
        let bits = random.bits();
        data.extend([58, 52, 46, 40].map(|shift| char::from(ALPHABET[(bits >> shift) as usize & 63])));
    }
    data.push_str(r#"","mimeType":"image/png"}]}"#);
    envelope::response("result", &data, random)
}
