//! The log of a port.

use std::ffi::c_void;

use serde::Deserialize;

use crate::edge::text::{Text, trunkline_str};
use crate::edge::user_data::Callback;

/// One log record; `level` is "error", "warn", "info" or "debug". The texts are borrowed until the
/// callback returns.
pub type trunkline_log_callback = Option<
    unsafe extern "C" fn(level: trunkline_str, target: trunkline_str, message: trunkline_str, user_data: *mut c_void),
>;

pub(crate) type LogCallback = Callback<unsafe extern "C" fn(trunkline_str, trunkline_str, trunkline_str, *mut c_void)>;

#[derive(Deserialize)]
struct LogRecord {
    level: String,
    target: String,
    message: String,
}

/// Reports log records, a JSON array. Without a callback, errors and warnings go to stderr: a failing tool must not be silent.
pub(crate) fn report(records: &[u8], callback: Option<&LogCallback>) {
    let records: Vec<LogRecord> = serde_json::from_slice(records).unwrap_or_default();
    for LogRecord { level, target, message } in records {
        match callback {
            Some(Callback { function, data }) => {
                let [level, target, message] = [level, target, message].map(|text| Text::new(text.into_bytes()));
                // SAFETY: the host's function with the host's data; all arguments live until it returns.
                unsafe { function(level.lend(), target.lend(), message.lend(), data.pointer()) }
            }
            None if level == "error" || level == "warn" => eprintln!("trunkline: {level}: {target}: {message}"),
            None => {}
        }
    }
}
