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

/// Passes on log records. Without a callback, errors and warnings go to stderr, because a failing
/// tool must not go unnoticed.
pub(crate) fn report(records: Vec<LogRecord>, callback: Option<&Callback<trunkline_log_callback>>) {
    let Some(Callback { function, data }) = callback else {
        return write_stderr(&severe(&records));
    };
    for LogRecord { level, target, message } in records {
        let [level, target, message] = [level, &target, &message].map(|text| Text::copy(text.as_bytes()));
        // SAFETY: the host's function with the host's data; all arguments live until it returns.
        unsafe { function(&level.lend(), &target.lend(), &message.lend(), data.pointer()) }
    }
}

/// The errors and warnings among the records, one per line.
fn severe(records: &[LogRecord]) -> String {
    let severe = records.iter().filter(|record| matches!(record.level, "error" | "warn"));
    severe.map(|LogRecord { level, target, message }| format!("[{target}] {level}: {message}\n")).collect()
}
