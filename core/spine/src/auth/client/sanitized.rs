//! Makes strings from servers safe for errors and logs.

/// Longer strings are truncated.
const MAX_LENGTH: usize = 300;

/// Removes control characters, which terminals would interpret, and truncates long strings.
pub(super) fn sanitized(text: &str) -> String {
    let invisible = |it: &char| {
        !it.is_control() && !matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(invisible).take(MAX_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sec_17_terminals_are_not_addressed() {
        assert_eq!(super::sanitized("a\u{1b}[31mb\r\n\u{202e}c"), "a[31mbc");
        assert_eq!(super::sanitized(&"x".repeat(999)).len(), super::MAX_LENGTH);
    }
}
