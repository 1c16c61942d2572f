//! The observers of the messages and HTTP exchanges of this process.

use super::{redaction::Redacting, wire_file::WireFile};
use crate::{
    sync::Mutex,
    wire_log::{HttpExchange, MessageInfo, WireLog},
};
use once_cell::race::OnceBox;
use std::{io, path::Path};

/// The observers of the process, once a connection was opened.
static OBSERVER: OnceBox<Option<Box<dyn WireLog>>> = OnceBox::new();

/// The observers that were added before; `None` once a connection was opened.
static ADDED: Mutex<Option<Vec<Box<dyn WireLog>>>> = Mutex::new(Some(Vec::new()));

/// A connection was opened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process has opened a connection already: begin to observe before the first one")]
pub struct AlreadyConnected;

/// Passes all messages and HTTP exchanges of this process to an observer: a closure, or a
/// [`WireLog`]. Call it before the first connection is opened; each of several observers gets
/// everything.
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
/// # Ok::<(), wire_log::AlreadyConnected>(())
/// ```
///
/// # Errors
/// If a connection was opened already.
pub fn observe(observer: impl WireLog) -> Result<(), AlreadyConnected> {
    let mut added = ADDED.lock();
    added.as_mut().ok_or(AlreadyConnected)?.push(Box::new(observer));
    Ok(())
}

/// Records all messages and HTTP exchanges of this process in a file of its own in a folder, as
/// lines of JSON; see [`observe`]. The environment variable `TRUNKLINE_WIRE_LOG` does the same.
///
/// # Errors
/// If the file cannot be created, or as for [`observe`].
pub fn record_in(folder: &Path) -> io::Result<()> {
    observe(WireFile::in_folder(folder)?).map_err(io::Error::other)
}

/// The observers of this process: those of the program, and that of the environment.
pub(crate) fn of_process() -> Option<&'static dyn WireLog> {
    let all = || {
        let mut all = ADDED.lock().take().unwrap_or_default();
        all.extend(of_environment());
        let observer = (!all.is_empty()).then(|| Box::new(Redacting::new(Observers(all))) as Box<dyn WireLog>);
        Box::new(observer)
    };
    OBSERVER.get_or_init(all).as_deref()
}

fn of_environment() -> Option<Box<dyn WireLog>> {
    let folder = std::env::var_os("TRUNKLINE_WIRE_LOG")?;
    let file = WireFile::in_folder(Path::new(&folder))
        .inspect_err(|error| tracing::error!(target: "trunkline::wire_log", %error, "could not write the wire log"))
        .ok()?;
    Some(Box::new(file))
}

/// All observers of the process.
struct Observers(Vec<Box<dyn WireLog>>);

impl WireLog for Observers {
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]) {
        self.0.iter().for_each(|observer| observer.text(exchange, text));
    }

    fn http(&self, exchange: &HttpExchange<'_>) {
        self.0.iter().for_each(|observer| observer.http(exchange));
    }
}
