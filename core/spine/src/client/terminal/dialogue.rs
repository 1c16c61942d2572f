//! Parts of the dialogues about forms and pages: safe strings, and the decision of the user.

use crate::{
    client::ServerRequest,
    printable::{self, printable, shortened},
    protocol::model::ElicitAction,
    runtime::Console,
};
use std::io;

/// Longer strings are cut short.
const MAX_CHARS: usize = 4_000;

/// A string with its lines kept, each indented.
pub(super) fn paragraph(text: &str) -> String {
    shortened(&printable(text), MAX_CHARS).lines().map(|line| format!("  {line}\n")).collect()
}

/// A string on one line.
pub(super) fn line(text: &str) -> String {
    printable::line(text, MAX_CHARS)
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

/// Asks for the decision. Returns `None` if the user wants to edit the form.
pub(super) fn decision(console: &mut dyn Console, question: &str, can_edit: bool) -> io::Result<Option<ElicitAction>> {
    let edit = if can_edit { ", edit" } else { "" };
    loop {
        console.show(&format!("{question} yes, no (decline){edit}, cancel: "))?;
        let Some(answer) = console.read_line()? else {
            console.show("\n")?;
            return Ok(Some(ElicitAction::Cancel));
        };
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Some(ElicitAction::Accept)),
            "e" | "edit" if can_edit => return Ok(None),
            "n" | "no" | "decline" => return Ok(Some(ElicitAction::Decline)),
            "c" | "cancel" => return Ok(Some(ElicitAction::Cancel)),
            _ => {}
        }
    }
}
