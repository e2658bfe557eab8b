//! Resolves JSON pointers (RFC 6901) in valid JSON, without decoding any values.

use std::borrow::Cow;

use super::{string, walk};

/// Returns the value at `pointer`. If several members have the same name, the last one counts.
pub fn find<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    follow(text, pointer, |values| values.last())
}

/// Returns the value at `pointer`, or `None` if a member on the way occurs twice, because parsers disagree on which one
/// counts.
pub fn find_only<'t>(text: &'t str, pointer: &str) -> Option<&'t str> {
    follow(text, pointer, |values| values.next().filter(|_| values.next().is_none()))
}

/// Follows `pointer`, with `choose` to choose among the values of members with the same name.
fn follow<'t>(
    text: &'t str,
    pointer: &str,
    choose: impl Fn(&mut dyn Iterator<Item = &'t str>) -> Option<&'t str>,
) -> Option<&'t str> {
    if pointer.is_empty() {
        return Some(text);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(text, |value, token| match value.as_bytes().first()? {
        b'{' => {
            let name = match token.contains('~') {
                true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
                false => Cow::Borrowed(token),
            };
            choose(&mut walk::members(value).filter(|(key, _)| string::decodes_to(key, &name)).map(|(_, value)| value))
        }
        b'[' => {
            let is_index = token == "0" || !token.starts_with(['0', '+']);
            let index = token.parse().ok().filter(|_| is_index)?;
            Some(walk::elements(value).nth(index)?.1)
        }
        _ => None,
    })
}
