//! Lenient parsing of configuration files: JSON with comments and trailing commas.

use serde_json::Value;

/// Parses JSON that may have a byte order mark, comments and trailing commas. Line and column
/// numbers in errors refer to the file.
pub(crate) fn json(text: &[u8]) -> serde_json::Result<Value> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    serde_json::from_slice(text).or_else(|_| serde_json::from_slice(&plain(text)))
}

/// Replaces comments and trailing commas with spaces.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    // The last comma after a value, if nothing follows it yet, and the byte before it.
    let (mut at, mut comma, mut last) = (0, None, b'[');
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'"' => string(rest),
            b'/' if rest.starts_with(b"//") => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                rest[2..].windows(2).position(|end| end == b"*/").map_or(rest.len(), |end| end + 4)
            }
            _ => 1,
        };
        match byte {
            b'/' if length > 1 => {
                plain[at..at + length].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            }
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    plain[comma] = b' ';
                }
            }
            b',' => comma = (!matches!(last, b'[' | b'{' | b',')).then_some(at),
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        if !(byte.is_ascii_whitespace() || byte == b'/' && length > 1) {
            last = byte;
        }
        at += length;
    }
    plain
}

/// The length of the string literal at the start of `text`.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::json as read;
    use serde_json::json;

    #[test]
    fn comments_commas_at_the_end_and_a_byte_order_mark_are_read() {
        let text = "\u{feff}{ // \"a\": 1,\n\"b\": [\"x // y\", \"/* \\\" */\", /* , ] */ ], /*/ */ \"c\": {\"d\": 1,\n},}\n//";
        assert_eq!(read(text.as_bytes()).unwrap(), json!({"b": ["x // y", "/* \" */"], "c": {"d": 1}}));
    }

    #[test]
    fn other_errors_keep_their_path() {
        for (text, place) in [
            ("{\n// a\n\"b\": }", "line 3 column 6"),
            ("[1,,]", "line 1 column"),
            ("[,]", "line 1 column"),
            ("[1 /", "line 1 column 4"),
            ("[1 /* ", "line 1"),
            ("[\"a", "line 1"),
            ("[\"\\", "line 1"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
    }
}
