//! The parameters of notifications that a client receives.

use serde_json::Value;
use std::fmt;

json_object! {
    /// The progress of a request.
    pub struct Progress with meta {
        /// Progress so far; increases with each notification.
        required progress: f64 = "progress",
        /// Value at the end, if known.
        optional total: f64 = "total",
        /// Description of the progress (2025-03-26 and later).
        optional message: String = "message",
    }

    /// A resource has changed.
    pub struct ResourceUpdated with meta {
        /// URI of the resource; may be below the subscribed one.
        required uri: String = "uri",
    }

    /// A URL elicitation is complete.
    pub struct ElicitationComplete with meta {
        /// Id of the elicitation, as in its request.
        required elicitation_id: String = "elicitationId",
    }
}

crate::json_names! {
    /// Severity of a log message, least severe first (RFC 5424).
    #[derive(PartialOrd, Ord)]
    pub enum LoggingLevel, by default Info {
        /// Debugging information.
        Debug = "debug",
        /// General information.
        Info = "info",
        /// Normal but significant events.
        Notice = "notice",
        /// Warnings.
        Warning = "warning",
        /// Errors.
        Error = "error",
        /// Critical errors, such as a failed component.
        Critical = "critical",
        /// Action must be taken immediately.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

json_object! {
    /// The parameters of `notifications/message`.
    pub struct LogMessage with meta {
        /// Severity.
        required level: LoggingLevel = "level",
        /// The part of the server that logs.
        optional logger: String = "logger",
        /// Data to log: any JSON value, without credentials or personal data.
        required data: Value = "data",
    }
}

impl LoggingLevel {
    /// Returns the level with that name, which is case-sensitive.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn progress_round_trips() {
        let wire = json!({"progress": 1.5, "total": 3.0, "message": "half", "x": 1});
        let read: Progress = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!((read.progress, read.total), (1.5, Some(3.0)));
        assert_eq!(serde_json::to_value(read).unwrap(), wire);
        assert!(serde_json::from_value::<ResourceUpdated>(json!({})).is_err());
    }

    #[test]
    fn levels_are_ordered_by_severity() {
        assert!(LoggingLevel::ALL.is_sorted());
        assert!(LoggingLevel::Warning < LoggingLevel::Error);
    }

    #[test]
    fn a_name_is_one_of_the_eight() {
        for level in LoggingLevel::ALL {
            assert_eq!(LoggingLevel::parse(level.as_str()), Some(level));
            assert_eq!(json!(level), level.as_str());
        }
        for unknown in ["", "warn", "INFO", "fatal"] {
            assert_eq!(LoggingLevel::parse(unknown), None);
        }
        assert!(serde_json::from_value::<LogMessage>(json!({"level": "loud", "data": 1})).is_err());
    }

    #[test]
    fn messages_round_trip() {
        let wire = json!({"level": "notice", "logger": "l", "data": null, "x": 1});
        let message: LogMessage = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(message).unwrap(), wire);
    }
}
