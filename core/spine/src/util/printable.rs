//! Makes strings from peers safe for terminals and logs.

use crate::protocol::RawJson;
use std::fmt::Write as _;

/// Removes terminal escapes, control characters (except tabs and line breaks), and characters that
/// reorder others. Use it for any string of a server that your program prints.
///
/// ```
/// assert_eq!(trunkline::printable("\u{1b}[31mred\u{1b}[0m\u{202e}"), "red");
/// ```
pub fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => match rest.next() {
                Some('[') => skip_sequence(&mut rest),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                _ => {}
            },
            '\u{9b}' => skip_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            '\n' | '\t' => printed.push(character),
            _ if reorders(character) || character.is_control() => {}
            _ => printed.push(character),
        }
    }
    printed
}

/// A printable string on one line, cut short after `max` characters.
pub(crate) fn line(text: &str, max: usize) -> String {
    shortened(&printable(text), max).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A string, cut short after `max` characters.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// Writes JSON with all that [`printable`] removes as escapes instead: the value stays the same.
/// Line breaks between its tokens become spaces.
///
/// ```
/// let json = trunkline::protocol::RawJson::from_text("\"a\u{202e}\u{9b}31m\"".into())?;
/// assert_eq!(trunkline::printable_json(&json), r#""a\u202e\u009b31m""#);
/// # Ok::<(), trunkline::serde_json::Error>(())
/// ```
pub fn printable_json(json: &RawJson) -> String {
    let mut printed = String::with_capacity(json.as_str().len());
    for character in json.as_str().chars() {
        match character {
            // Between tokens: JSON has none in its strings.
            '\n' | '\r' | '\t' => printed.push(' '),
            _ if reorders(character) || character.is_control() => {
                let _ = write!(printed, "\\u{:04x}", u32::from(character));
            }
            _ => printed.push(character),
        }
    }
    printed
}

/// Bidirectional marks (UAX 9), which make a string look like another one.
fn reorders(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips a control sequence to its final byte (ECMA-48 section 5.4).
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    for character in rest.by_ref() {
        if matches!(character, '@'..='~') {
            return;
        }
    }
}

/// Skips a control string to its terminator (ECMA-48 section 5.6); xterm also accepts BEL.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(character) = rest.next() {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next();
                return;
            }
            _ => {}
        }
    }
}

/// Longest string of a peer in an error or a warning, in characters.
pub(crate) const MAX_LENGTH: usize = 300;

/// Removes control characters, which terminals would interpret, and truncates long strings.
pub(crate) fn sanitized(text: &str) -> String {
    let invisible = |it: &char| {
        !it.is_control() && !matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(invisible).take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, line, printable, printable_json, sanitized};
    use crate::protocol::RawJson;

    #[test]
    fn escapes_and_control_characters_do_not_reach_a_terminal() {
        for (text, printed) in [
            ("größe\tof\nit 🎉", "größe\tof\nit 🎉"),
            ("\u{1b}[2J\u{1b}[31;1mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("\u{9b}31mred\u{9d}x\u{9c}", "red"),
            ("a\rb\u{8}c\0\u{7f}", "abc"),
            ("a\u{202e}b\u{2066}c\u{61c}", "abc"),
            ("end\u{1b}", "end"),
            ("end\u{1b}[31", "end"),
        ] {
            assert_eq!(printable(text), printed);
        }
    }

    #[test]
    fn sec_17_terminals_are_not_addressed() {
        assert_eq!(sanitized("a\u{1b}[31mb\r\n\u{202e}c"), "a[31mbc");
        assert_eq!(sanitized(&"x".repeat(999)).len(), MAX_LENGTH);
    }

    #[test]
    fn a_line_has_no_breaks_and_a_limit() {
        for (text, printed) in [
            ("a\n\tb c", "a b c"),
            ("a\u{1b}[31mb\u{85}\u{2028}c", "ab c"),
            ("größer", "größer"),
            ("größte", "größte"),
            ("größere", "größer …"),
        ] {
            assert_eq!(line(text, 6), printed);
        }
    }

    #[test]
    fn json_keeps_its_value_without_characters_that_a_terminal_obeys() {
        let text = "{\n\t\"a\u{202e}\": \"\u{9b}31m\u{7f}\u{61c} \\u001b\\n größe 🎉\"}";
        let json = RawJson::from_text(text.into()).unwrap();
        let printed = printable_json(&json);
        assert_eq!(printed, "{  \"a\\u202e\": \"\\u009b31m\\u007f\\u061c \\u001b\\n größe 🎉\"}");
        let again: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(again, json.parse::<serde_json::Value>().unwrap());
    }
}
