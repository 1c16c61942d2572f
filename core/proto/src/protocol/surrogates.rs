//! Lone surrogates in JSON: escapes that represent no character.

use std::borrow::Cow;

/// Replaces each lone surrogate with U+FFFD. JavaScript strings may contain lone surrogates, which
/// UTF-8 cannot represent, so the JSON could not be parsed.
pub fn mended(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match (half_at(text, at), half_at(text, at + ESCAPE_LENGTH)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE_LENGTH,
            (Some(_), _) => {
                // The replacement has the same length.
                out.get_or_insert_with(|| text.to_vec())[at..at + ESCAPE_LENGTH].copy_from_slice(b"\\ufffd");
                ESCAPE_LENGTH
            }
            // The escaped character, such as a backslash, is part of this escape.
            (None, _) => 2,
        };
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The length of `\uD83D`.
const ESCAPE_LENGTH: usize = 6;

/// The lone surrogate escaped at a position.
fn half_at(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + ESCAPE_LENGTH)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| matches!(unit, 0xD800..=0xDFFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend(text: &str) -> Option<String> {
        match mended(text.as_bytes()) {
            Cow::Owned(text) => Some(String::from_utf8(text).unwrap()),
            Cow::Borrowed(_) => None,
        }
    }

    #[test]
    fn halves_become_the_replacement_character_and_all_else_stays() {
        for whole in [
            "",
            r#""a""#,
            r#""\ud83d\ude00""#,
            r#""\\ud800""#,
            r#""\u00e9 \n""#,
            r#""\"#,
            r#""\ud8"#,
            r#""\ud83d\uDE00 \\""#,
        ] {
            assert_eq!(mend(whole), None, "{whole}");
        }
        for (broken, fixed) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#"{"\uDFFF": "\ud83d\ude00"}"#, r#"{"\ufffd": "\ud83d\ude00"}"#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ude00\ud83d x""#, r#""\ufffd\ufffd x""#),
            (r#""\\\ud800""#, r#""\\\ufffd""#),
        ] {
            assert_eq!(mend(broken).as_deref(), Some(fixed), "{broken}");
            assert!(serde_json::from_str::<serde_json::Value>(fixed).is_ok());
        }
    }
}
