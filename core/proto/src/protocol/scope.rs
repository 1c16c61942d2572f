//! The syntax of scopes.

/// Returns whether a string is a valid scope (RFC 6749 section 3.3), which can be used in header
/// fields unescaped.
pub fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_have_a_syntax() {
        for scope in ["files:read", "https://api.example/.default", "!"] {
            assert!(is_scope(scope), "{scope}");
        }
        for text in ["", "a b", "a\"b", "a\\b", "ü", "a\nb"] {
            assert!(!is_scope(text), "{text}");
        }
    }
}
