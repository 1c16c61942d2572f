//! Scans JSON for strings and brackets, and writes strings.

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

/// The first quote or backslash.
fn end_or_escape(text: &[u8]) -> Option<usize> {
    match first_in_words(text, |word| bytes_equal_to(word, b'"') | bytes_equal_to(word, b'\\')) {
        Ok(position) => Some(position),
        Err(start) => memchr2(b'"', b'\\', &text[start..]).map(|position| start + position),
    }
}

/// The number of bytes before the first quote, backslash or control character: what a JSON string
/// contains as it is.
pub(super) fn plain_length(text: &[u8]) -> usize {
    let is_special = |word| bytes_equal_to(word, b'"') | bytes_equal_to(word, b'\\') | control_characters(word);
    match first_in_words(text, is_special) {
        Ok(position) => position,
        Err(start) => start + plain_length_in_blocks(&text[start..]),
    }
}

fn plain_length_in_blocks(text: &[u8]) -> usize {
    let is_special = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    // Without branches inside of a block, so that the compiler can use vector instructions.
    let is_plain = |block: &&[u8; 32]| !block.iter().fold(false, |found, byte| found | is_special(*byte));
    let blocks = text.as_chunks().0.iter().take_while(is_plain).count() * 32;
    let rest = &text[blocks..];
    blocks + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// Looks for a byte that `find` marks by its highest bit, eight bytes at a time. Most strings are
/// short, and for them that is faster than vector instructions.
///
/// # Errors
/// The number of bytes that were looked at, if none was found.
fn first_in_words(text: &[u8], find: impl Fn(u64) -> u64) -> Result<usize, usize> {
    let words = &text.as_chunks::<8>().0[..(text.len() / 8).min(MAX_SHORT_STRING / 8)];
    for (index, word) in words.iter().enumerate() {
        let found = find(u64::from_le_bytes(*word));
        if found != 0 {
            return Ok(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    Err(words.len() * 8)
}

/// The highest bit of each byte of `word` that equals `byte`. Only the lowest one is exact: the
/// subtraction borrows from the bytes above it.
fn bytes_equal_to(word: u64, byte: u8) -> u64 {
    let difference = word ^ (LOW_BITS * u64::from(byte));
    difference.wrapping_sub(LOW_BITS) & !difference & (LOW_BITS << 7)
}

/// The highest bit of each byte of `word` below 0x20, exact as in [`bytes_equal_to`].
fn control_characters(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS * 0x20) & !word & (LOW_BITS << 7)
}

/// The lowest bit of each byte.
const LOW_BITS: u64 = u64::MAX / 255;

/// In bytes.
const MAX_SHORT_STRING: usize = 64;

/// Appends a JSON string. Most of a long text needs no escapes and is copied as a whole.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, escaped) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = escaped.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control)]);
            }
        }
        rest = after;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn strings_are_read_as_they_were(
            text in prop_oneof![any::<String>(), "[ -~\\n\"\\\\]{0,200}", "[a-z]{0,200}\u{1}?[ä-ü]{0,80}\t?"],
        ) {
            let mut out = b"before".to_vec();
            push_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out[6..]).unwrap(), text);
        }
    }

    #[test]
    fn each_control_character_has_its_escape() {
        for byte in 0..=0x7f_u8 {
            let text = char::from(byte).to_string();
            let mut out = Vec::new();
            push_string(&mut out, &text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
