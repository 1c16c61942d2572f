//! Helpers that several layers use and none of them owns: locks, counts, delays, ids and strings.

pub(crate) mod backoff;
pub(crate) mod boxed_task;
pub(crate) mod counts;
pub(crate) mod log_text;
pub(crate) mod on_drop;
pub(crate) mod printable;
pub(crate) mod random;
#[cfg(any(feature = "auth", feature = "config-files"))]
pub(crate) mod regular_file;
pub(crate) mod sync;
pub(crate) mod timestamp;
pub(crate) mod turns;
