//! Scans valid JSON for strings and brackets.

use memchr::memchr2;

/// The string between these quotes.
pub(super) fn unescaped(string: &[u8]) -> String {
    let quoted = [b"\"", string, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(string).into_owned())
}

/// Finds the next bracket or comma outside strings, and the text after it.
pub(super) fn next_structural(mut text: &[u8]) -> Option<(u8, &[u8])> {
    loop {
        let position = text.iter().position(|byte| STRUCTURAL[usize::from(*byte)])?;
        let (byte, rest) = (text[position], &text[position + 1..]);
        if byte != b'"' {
            return Some((byte, rest));
        }
        text = behind_string(rest);
    }
}

/// Quotes, brackets and commas.
static STRUCTURAL: [bool; 256] = {
    let mut table = [false; 256];
    let (bytes, mut index) = (b"\"{}[],", 0);
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// The text after the closing quote of a string. `text` starts after the opening one.
pub(super) fn behind_string(mut text: &[u8]) -> &[u8] {
    while let Some(position) = end_or_escape(text) {
        if text[position] == b'"' {
            return &text[position + 1..];
        }
        text = text.get(position + 2..).unwrap_or_default();
    }
    &[]
}

/// The first quote or backslash. Most strings are short, and for them a loop is faster than vector
/// instructions.
fn end_or_escape(text: &[u8]) -> Option<usize> {
    let (near, far) = text.split_at(text.len().min(SHORT));
    let found = near.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    found.or_else(|| memchr2(b'"', b'\\', far).map(|position| SHORT + position))
}

/// Maximum length of a short string, in bytes.
const SHORT: usize = 16;
