//! Texts of files, and what is wrong with them.

/// Why a file cannot be read or edited, with line and column if they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) at: Option<(usize, usize)>,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: None }
    }

    /// A problem at a byte of a text.
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { message: message.into(), at: Some((line, column)) }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// The line end of a text.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A text whose part from `from` to `to` is replaced.
pub(super) fn spliced(text: &str, from: usize, to: usize, new: &str) -> String {
    [&text[..from], new, &text[to..]].concat()
}
