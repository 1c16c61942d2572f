//! The observer of the messages and HTTP exchanges of this process.

use super::{redaction::Redacting, wire_file::WireFile};
use crate::wire_log::WireLog;
use once_cell::race::OnceBox;
use std::{io, path::Path};

static OBSERVER: OnceBox<Option<Box<dyn WireLog>>> = OnceBox::new();

/// There is an observer already, or a connection was opened without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the process has an observer already, or has opened a connection without one: begin to observe before the first connection"
)]
pub struct AlreadyObserved;

/// Passes all messages and HTTP exchanges of this process to an observer: a closure, or a
/// [`WireLog`]. Call it once, before the first connection is opened.
///
/// Secrets are removed: the values of headers such as `Authorization` and `Cookie`, parameters of
/// URLs such as `code`, and the same values wherever else they appear. Messages have arguments,
/// results and the user's input.
///
/// ```
/// use trunkline::wire_log::{self, Observed};
///
/// wire_log::observe(|observed: Observed<'_>| match observed {
///     Observed::Message(info, text) => eprintln!("{:?} {}", info.direction, String::from_utf8_lossy(text)),
///     Observed::Http(exchange) => eprintln!("{} {} {:?}", exchange.method, exchange.url, exchange.status),
///     _ => {}
/// })?;
/// # Ok::<(), wire_log::AlreadyObserved>(())
/// ```
///
/// # Errors
/// If there is an observer already, or a connection was opened without one.
pub fn observe(observer: impl WireLog) -> Result<(), AlreadyObserved> {
    let observer: Box<dyn WireLog> = Box::new(Redacting::new(observer));
    OBSERVER.set(Box::new(Some(observer))).map_err(|_| AlreadyObserved)
}

/// Records all messages and HTTP exchanges of this process in a file of its own in a folder, as
/// lines of JSON; see [`observe`]. The environment variable `TRUNKLINE_WIRE_LOG` does the same.
///
/// # Errors
/// If the file cannot be created, or as for [`observe`].
pub fn record_in(folder: &Path) -> io::Result<()> {
    observe(WireFile::in_folder(folder)?).map_err(io::Error::other)
}

/// The observer of this process. The environment decides if the program has not.
pub(crate) fn of_process() -> Option<&'static dyn WireLog> {
    OBSERVER.get_or_init(|| Box::new(of_environment())).as_deref()
}

fn of_environment() -> Option<Box<dyn WireLog>> {
    let folder = std::env::var_os("TRUNKLINE_WIRE_LOG")?;
    let file = WireFile::in_folder(Path::new(&folder))
        .inspect_err(|error| tracing::error!(target: "trunkline::wire_log", %error, "could not write the wire log"))
        .ok()?;
    Some(Box::new(Redacting::new(file)))
}
