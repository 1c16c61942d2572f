//! The log of a port.

use trunkline_bridge::{LogRecord, write_stderr};

use crate::edge::prelude::*;

/// Receives a log record; `level` is "error", "warn", "info" or "debug". The strings are borrowed
/// until the callback returns.
pub type trunkline_log_callback = Option<
    unsafe extern "C" fn(
        level: *const trunkline_str,
        target: *const trunkline_str,
        message: *const trunkline_str,
        user_data: *mut c_void,
    ),
>;

/// Receives a log record as JSON, `{"level", "target", "message", "event", "fields"}`: `level` is
/// "error", "warn", "info" or "debug", `event` is the message without its fields, and `fields` an
/// object with fields such as `tool` and `error`. The JSON is borrowed until the callback returns.
pub type trunkline_log_record_callback =
    Option<unsafe extern "C" fn(record: *const trunkline_str, user_data: *mut c_void)>;

/// Where log records go.
pub(crate) enum LogReceiver {
    /// Errors and warnings go to stderr, because a failing tool must not go unnoticed.
    Stderr,
    Texts(Callback<trunkline_log_callback>),
    Records(Callback<trunkline_log_record_callback>),
}

impl LogReceiver {
    pub(crate) fn report(&self, records: Vec<LogRecord>) {
        match self {
            Self::Stderr => write_stderr(&severe(&records)),
            Self::Texts(Callback { function, data }) => {
                for LogRecord { level, target, message, .. } in records {
                    let [level, target, message] = [level, &target, &message].map(|text| Text::copy(text.as_bytes()));
                    // SAFETY: the host's function and data; all arguments live until it returns.
                    unsafe { function(&level.lend(), &target.lend(), &message.lend(), data.pointer()) }
                }
            }
            Self::Records(Callback { function, data }) => {
                for record in records {
                    let record = Text::copy(serde_json::to_vec(&record).unwrap_or_default());
                    // SAFETY: the host's function and data; all arguments live until it returns.
                    unsafe { function(&record.lend(), data.pointer()) }
                }
            }
        }
    }
}

/// The errors and warnings among the records, one per line.
fn severe(records: &[LogRecord]) -> String {
    let severe = records.iter().filter(|record| matches!(record.level, "error" | "warn"));
    severe.map(|LogRecord { level, target, message, .. }| format!("[{target}] {level}: {message}\n")).collect()
}
