//! The messages of the library, on standard error.

pub(in crate::commands) use super::flags::Level;
use std::io::{self, IsTerminal};
use tracing::level_filters::LevelFilter;

/// Prints messages from now on.
pub(in crate::commands) fn start(least: Level) {
    let least = match least {
        Level::None => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        // Where nothing reads standard error, it would panic.
        .log_internal_errors(false)
        .with_max_level(least)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .finish();
    // Fails only if there is one already.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
