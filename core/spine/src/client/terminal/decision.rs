//! The user's decision about a form or page.

use crate::{protocol::model::ElicitAction, runtime::Console};
use std::io;

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
