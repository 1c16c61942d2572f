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
pub(super) fn behind_string(text: &[u8]) -> &[u8] {
    skip_string(text).0
}

/// The same, and whether the string has escapes.
pub(super) fn skip_string(mut text: &[u8]) -> (&[u8], bool) {
    let mut is_escaped = false;
    while let Some(position) = end_or_escape(text) {
        if text[position] == b'"' {
            return (&text[position + 1..], is_escaped);
        }
        is_escaped = true;
        text = text.get(position + 2..).unwrap_or_default();
    }
    (&[], is_escaped)
}

/// The first quote or backslash. Most strings are short, and for them looking at eight bytes at a
/// time is faster than vector instructions.
fn end_or_escape(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().take(SHORT / 8).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = bytes_equal_to(word, b'"') | bytes_equal_to(word, b'\\');
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let looked_at = text.len() - rest.len();
    let (start, rest) = if looked_at <= SHORT { (looked_at, rest) } else { (SHORT, &text[SHORT..]) };
    memchr2(b'"', b'\\', rest).map(|position| start + position)
}

/// The highest bit of each byte of `word` that equals `byte`. Only the lowest one is exact: the
/// subtraction borrows from the bytes above it.
fn bytes_equal_to(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::MAX / 255;
    let difference = word ^ (LOW * u64::from(byte));
    difference.wrapping_sub(LOW) & !difference & (LOW << 7)
}

/// Maximum length of a short string, in bytes.
const SHORT: usize = 64;
