//! Canonical JSON for digests: equal values give the same text, whatever the order of their
//! members.

use std::borrow::Cow;

/// Appends the members of an object except those in `passing`. `None` if the text is not an object.
///
/// Numbers are written as received: no machine type can hold some of them exactly, but some
/// handlers read them exactly, so they must not be confused with nearby numbers.
pub(super) fn write_members(object: &str, passing: &[&str], out: &mut Vec<u8>) -> Option<()> {
    let mut reader = CanonicalReader { rest: object };
    reader.skip_blanks();
    reader.object(passing, out)
}

struct CanonicalReader<'a> {
    rest: &'a str,
}

impl<'a> CanonicalReader<'a> {
    fn value(&mut self, out: &mut Vec<u8>) -> Option<()> {
        match self.rest.as_bytes().first()? {
            b'{' => self.object(&[], out),
            b'[' => self.array(out),
            b'"' => {
                let text = self.string()?;
                write_string(&text, out);
                Some(())
            }
            _ => {
                let end = self.rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
                out.extend_from_slice(self.take(end)?.as_bytes());
                Some(())
            }
        }
    }

    fn object(&mut self, passing: &[&str], out: &mut Vec<u8>) -> Option<()> {
        self.expect('{')?;
        let mut members = Vec::new();
        let mut texts = Vec::new();
        while self.expect('}').is_none() {
            let name = self.string()?;
            self.skip_blanks();
            self.expect(':')?;
            let start = texts.len();
            self.value(&mut texts)?;
            self.end_item()?;
            if !passing.contains(&&*name) {
                members.push((name, start..texts.len()));
            }
        }
        // The sort is stable, so members with the same name keep their order.
        members.sort_by(|(name, _), (other, _)| name.cmp(other));
        out.push(b'{');
        for (name, text) in members {
            write_string(&name, out);
            out.push(b':');
            out.extend_from_slice(texts.get(text)?);
            out.push(b',');
        }
        out.push(b'}');
        Some(())
    }

    fn array(&mut self, out: &mut Vec<u8>) -> Option<()> {
        self.expect('[')?;
        out.push(b'[');
        while self.expect(']').is_none() {
            self.value(out)?;
            self.end_item()?;
            out.push(b',');
        }
        out.push(b']');
        Some(())
    }

    /// Skips the comma after an item, if there is one, and the whitespace around it.
    fn end_item(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.rest.as_bytes().first()? {
            b',' => self.expect(','),
            _ => Some(()),
        }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        let token = self.take(end + 2)?;
        match token.contains('\\') {
            true => serde_json::from_str(token).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(&token[1..end + 1])),
        }
    }

    /// Skips this character and the whitespace after it; `None` if the next character is a
    /// different one.
    fn expect(&mut self, character: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(character)?;
        self.skip_blanks();
        Some(())
    }

    fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }
}

/// Quoted and prefixed with its length, so that nothing in it needs escaping.
fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\"{}:", text.len()).as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests;
