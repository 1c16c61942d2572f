//! Makes strings from servers safe to print in a terminal.

use crate::{client::ServerRequest, printable::printable};

/// Longer strings are cut short.
const MAX_CHARS: usize = 4_000;

/// A string with its lines kept, each indented.
pub(super) fn paragraph(text: &str) -> String {
    short(&printable(text)).lines().map(|line| format!("  {line}\n")).collect()
}

/// A string on one line.
pub(super) fn line(text: &str) -> String {
    short(&printable(text)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The requesting server: its name in the group, or the name that it sent.
pub(super) fn server<P>(request: &ServerRequest<P>) -> String {
    if let Some(name) = &request.server_name {
        return format!("The server {:?}", line(name));
    }
    match &request.server {
        Some(server) => format!("The server {:?}", line(server.title.as_deref().unwrap_or(&server.name))),
        None => "A server".to_owned(),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
