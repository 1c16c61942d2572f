//! Errors and log records as single strings: `a tool failed (tool=add): disk full`. A record also
//! keeps its parts, for loggers with fields.

use serde_json::{Map, Value};
use std::{
    error::Error,
    fmt::{self, Debug, Display, Write},
};
use tracing::field::{Field, Visit};

/// Collects the text of a record: its message, its fields, and finally the error.
#[derive(Default)]
pub struct LogText {
    message: String,
    fields: String,
    error: String,
    values: Map<String, Value>,
}

impl LogText {
    fn add(&mut self, field: &Field, text: impl Display, value: impl Into<Value>) {
        if field.name() != "message" {
            self.values.insert(field.name().to_owned(), value.into());
        }
        // Writing to a string never fails.
        let _ = match field.name() {
            "message" => write!(self.message, "{text}"),
            "error" => write!(self.error, "{text}"),
            name => {
                let separator = if self.fields.is_empty() { "" } else { ", " };
                write!(self.fields, "{separator}{name}={text}")
            }
        };
    }

    /// The message without fields, and the fields, one of which may be `error`.
    pub fn into_parts(self) -> (String, Map<String, Value>) {
        (self.message, self.values)
    }
}

impl Visit for LogText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.add(field, &text, &*text);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, format_args!("{value:.1}"), value);
    }

    /// Quote strings that a peer may have chosen, so that they cannot look like other fields or
    /// records.
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:+@%?&=~#*[]{}".contains(c);
        if matches!(field.name(), "message" | "error") || !value.is_empty() && value.chars().all(is_plain) {
            self.add(field, value, value);
        } else {
            self.add(field, format_args!("{value:?}"), value);
        }
    }
}

impl fmt::Display for LogText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.fields.is_empty() {
            write!(f, " ({})", self.fields)?;
        }
        if !self.error.is_empty() {
            write!(f, ": {}", self.error)?;
        }
        Ok(())
    }
}

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

#[cfg(all(test, feature = "full"))]
mod tests {
    use crate::tests::kept_log::KeptLog;

    #[test]
    fn records_are_read_as_a_sentence() {
        let log = KeptLog::default();
        tracing::subscriber::with_default(log.clone(), || {
            tracing::info!(target: "trunkline", url = "http://[::1]:8000/mcp", "serving");
            tracing::warn!(target: "trunkline", tool = "a", number = 3, took = 1.25, error = "no: yes", "a tool failed");
            tracing::warn!(target: "trunkline", path = "/x, user=root\nERROR forged", "refused");
            tracing::error!(target: "trunkline", "plain");
        });
        assert_eq!(
            log.take(),
            [
                "serving (url=http://[::1]:8000/mcp)",
                "a tool failed (tool=a, number=3, took=1.2): no: yes",
                r#"refused (path="/x, user=root\nERROR forged")"#,
                "plain",
            ]
        );
    }
}
