//! Patterns of names with wildcards.

/// Returns whether a text matches a pattern, in which `*` is any text and `?` any character.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // The pattern after the last star, and the text from where it may match.
    let mut star = None;
    loop {
        let from = text.clone();
        match (pattern.next(), text.next()) {
            (Some('*'), _) => {
                star = Some((pattern.clone(), from.clone()));
                text = from;
            }
            (None, None) => return true,
            (Some('?'), Some(_)) => {}
            (Some(expected), Some(found)) if expected == found => {}
            _ => {
                let Some((after, from)) = &mut star else { return false };
                // The star takes one more character.
                if from.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), from.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_character() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("get_*", "get_issue", true),
            ("get_*", "forget_issue", false),
            ("*delete*", "bulk_delete_all", true),
            ("*ab", "aab", true),
            ("*ab", "aba", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1c2b", false),
            ("?", "é", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("a*", "A", false),
            ("**", "*", true),
            ("a", "a*", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        // No pattern takes long.
        assert!(!matches(&"*a".repeat(1000), &"a".repeat(999)));
    }
}
