//! Formats errors with their causes.

use std::error::Error;

/// An error with its causes: `cannot load the note: permission denied`.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        // Some errors repeat their cause in their own message.
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}
