//! Splits a message into its members, checking in the same pass that the whole text is valid JSON
//! within its bounds.

use super::FrameBounds;
use crate::protocol::json_scan::plain_length;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The unparsed members of a message. Distinguishes `null` from absent.
#[derive(Debug, Default, PartialEq, Deserialize)]
pub(super) struct MessageMembers<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) jsonrpc: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) id: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) method: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) params: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) result: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) error: Option<&'a str>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de str>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(|raw| Some(raw.get()))
}

impl<'a> MessageMembers<'a> {
    /// Reads an object. Returns `None` for anything else, for excess, and for what is rare in valid
    /// messages: escapes in keys, or nesting deeper than [`Containers::MAX_DEPTH`]. A reader that
    /// explains errors decides about those.
    pub(super) fn scan(text: &'a str, bounds: FrameBounds) -> Option<Self> {
        let (mut found, mut scan) = (Self::default(), Scan { text, position: 0, bounds, values: 1 });
        scan.skip_whitespace();
        scan.expect(b'{')?;
        scan.count_value()?;
        scan.skip_whitespace();
        let mut is_closed = scan.take(b'}');
        while !is_closed {
            let key = scan.key()?;
            let start = scan.position;
            scan.skip_value()?;
            if let Some(member) = found.member(key)
                && member.replace(&text[start..scan.position]).is_some()
            {
                return None;
            }
            scan.skip_whitespace();
            is_closed = scan.take(b'}');
            if !is_closed {
                scan.next_item()?;
            }
        }
        scan.skip_whitespace();
        (scan.position == text.len()).then_some(found)
    }

    fn member(&mut self, key: &str) -> Option<&mut Option<&'a str>> {
        match key {
            "jsonrpc" => Some(&mut self.jsonrpc),
            "id" => Some(&mut self.id),
            "method" => Some(&mut self.method),
            "params" => Some(&mut self.params),
            "result" => Some(&mut self.result),
            "error" => Some(&mut self.error),
            _ => None,
        }
    }
}

/// A position in a text that is checked as it is read. Functions return `None` where it is invalid.
struct Scan<'a> {
    text: &'a str,
    position: usize,
    bounds: FrameBounds,
    /// Counted as by [`super::count_values`].
    values: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.position..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.position += 1;
        }
    }

    fn count_value(&mut self) -> Option<()> {
        self.values += 1;
        (self.values <= self.bounds.values).then_some(())
    }

    /// Reads the comma between two items, and the whitespace after it.
    fn next_item(&mut self) -> Option<()> {
        self.expect(b',')?;
        self.count_value()?;
        self.skip_whitespace();
        Some(())
    }

    /// Reads a key and its colon, up to its value.
    fn key(&mut self) -> Option<&'a str> {
        let start = self.position + 1;
        let (end, is_escaped) = self.skip_key()?;
        (!is_escaped).then_some(&self.text[start..end])
    }

    /// Reads a value whose first byte is next.
    fn skip_value(&mut self) -> Option<()> {
        let mut open = Containers::default();
        loop {
            match self.peek()? {
                b'"' => drop(self.skip_string()?),
                b'{' => {
                    self.open(&mut open, true)?;
                    if !self.take(b'}') {
                        self.skip_key()?;
                        continue;
                    }
                    open.close();
                }
                b'[' => {
                    self.open(&mut open, false)?;
                    if !self.take(b']') {
                        continue;
                    }
                    open.close();
                }
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                _ => self.skip_number()?,
            }
            loop {
                let Some(is_object) = open.innermost() else { return Some(()) };
                self.skip_whitespace();
                if !self.take(if is_object { b'}' } else { b']' }) {
                    self.next_item()?;
                    if is_object {
                        self.skip_key()?;
                    }
                    break;
                }
                open.close();
            }
        }
    }

    fn open(&mut self, containers: &mut Containers, is_object: bool) -> Option<()> {
        containers.open(is_object)?;
        // The message itself is one level.
        if containers.depth >= self.bounds.nesting {
            return None;
        }
        self.position += 1;
        self.count_value()?;
        self.skip_whitespace();
        Some(())
    }

    /// As [`Self::key`], for any key. Returns where it ends, and whether it has escapes.
    fn skip_key(&mut self) -> Option<(usize, bool)> {
        let is_escaped = self.skip_string()?;
        let end = self.position - 1;
        self.skip_whitespace();
        self.expect(b':')?;
        self.skip_whitespace();
        Some((end, is_escaped))
    }

    fn literal(&mut self, literal: &str) -> Option<()> {
        self.rest().starts_with(literal.as_bytes()).then(|| self.position += literal.len())
    }

    /// Reads a string, and returns whether it has escapes.
    fn skip_string(&mut self) -> Option<bool> {
        self.expect(b'"')?;
        let mut is_escaped = false;
        loop {
            self.position += plain_length(self.rest());
            match self.rest() {
                [b'"', ..] => break,
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.position += 2,
                [b'\\', b'u', ..] => self.unicode_escape()?,
                _ => return None,
            }
            is_escaped = true;
        }
        self.position += 1;
        Some(is_escaped)
    }

    fn unicode_escape(&mut self) -> Option<()> {
        let digits = self.rest().get(2..6)?;
        self.position += 6;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(())
    }

    fn skip_number(&mut self) -> Option<()> {
        let start = self.position;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        (self.position - start <= self.bounds.number).then_some(())
    }

    /// Reads at least one digit.
    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }
}

/// The arrays and objects around a position, a bit for each.
#[derive(Default)]
struct Containers {
    are_objects: u128,
    depth: usize,
}

impl Containers {
    const MAX_DEPTH: usize = 128;

    fn open(&mut self, is_object: bool) -> Option<()> {
        self.are_objects = self.are_objects << 1 | u128::from(is_object);
        self.depth += 1;
        (self.depth <= Self::MAX_DEPTH).then_some(())
    }

    fn close(&mut self) {
        self.are_objects >>= 1;
        self.depth -= 1;
    }

    /// Returns whether the innermost container is an object.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.are_objects & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::envelope::excess;
    use proptest::prelude::*;

    const BOUNDS: FrameBounds = FrameBounds { nesting: 6, values: 30, number: 5, elements: 1 };

    /// Text near to a message: its parts in any order, whole or not.
    fn near_json() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            " ",
            "\n",
            "\"id\"",
            "\"method\"",
            "\"params\":{",
            "\"result\":",
            "\"a\\u00e4\\n\"",
            "\\u12",
            "\"\\ud800\"",
            "0",
            "-1e+3",
            "-1.5e+3",
            "01",
            "1.",
            "-",
            "true",
            "false",
            "null",
            "nul",
            "\u{1}",
            "ä",
            "\"long string without any escapes, longer than a few words of eight bytes\"",
        ]);
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    /// Messages, of which some bytes are changed.
    fn near_message() -> impl Strategy<Value = String> {
        let text = concat!(
            r#" {"jsonrpc":"2.0", "id":-7,"method":"tools/call","params":{"name":"e\\u00e9\\"","#,
            r#""arguments":{"list":[1,-0.5e-3,[],{},[true,false,null]],"text":"0123456789012345678901234567890123456789"}}}"#
        );
        let change =
            (1..=text.len(), prop::sample::select(vec!["", "\"", "\\", "{", "}", "]", ",", "0", "é", "\u{1f}", " "]));
        prop::collection::vec(change, 0..3).prop_map(move |changes| {
            // By characters: a change may put two bytes in the place of one.
            let mut characters: Vec<_> = text.split("").collect();
            for (position, with) in changes {
                characters[position] = with;
            }
            characters.concat()
        })
    }

    proptest! {
        /// RPC-01: what is read in one pass is valid, within its bounds, and read as by serde.
        #[test]
        fn one_pass_reads_what_a_parser_reads(text in prop_oneof![near_json(), near_message()]) {
            let parsed = serde_json::from_str::<MessageMembers<'_>>(&text).ok().filter(|_| text.trim_start().starts_with('{'));
            match MessageMembers::scan(&text, BOUNDS) {
                Some(found) => {
                    prop_assert_eq!(excess(text.as_bytes(), BOUNDS), None);
                    prop_assert_eq!(Some(found), parsed);
                }
                // Only an escape in a key or excess leaves a valid message to the parser.
                None => prop_assert!(
                    parsed.is_none() || text.contains('\\') || excess(text.as_bytes(), BOUNDS).is_some(),
                    "{}", text
                ),
            }
        }
    }

    #[test]
    fn deep_nesting_is_left_to_the_parser() {
        let nested = |depth| format!(r#"{{"params":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(MessageMembers::scan(&nested(Containers::MAX_DEPTH), FrameBounds::NONE).is_some());
        assert!(MessageMembers::scan(&nested(Containers::MAX_DEPTH + 1), FrameBounds::NONE).is_none());
        assert!(MessageMembers::scan(&nested(5), BOUNDS).is_some());
        assert!(MessageMembers::scan(&nested(6), BOUNDS).is_none());
    }
}
