//! Forms: asks for each field, then whether to send the form.

use super::{
    field::Entry,
    printed::{paragraph, server},
};
use crate::{
    client::server_requests::client_handlers::ElicitRequest,
    protocol::model::{ElicitResult, JsonObject},
    runtime::Console,
};
use std::io;

/// Lets the user fill in a form, then send or decline it.
pub(super) fn fill(console: &mut dyn Console, request: &ElicitRequest) -> io::Result<ElicitResult> {
    let form = &request.requested_schema;
    console.show(&format!("\n{} asks:\n{}", server(request), paragraph(&request.message)))?;
    let mut content = JsonObject::new();
    loop {
        for (name, field) in &form.properties.0 {
            let required = form.required.iter().flatten().any(|required| required == name);
            let entry = Entry { name, field, required, before: content.get(name).or(field.default.as_ref()) };
            match entry.read(console)? {
                Some(Some(value)) => drop(content.insert(name.clone(), value)),
                Some(None) => drop(content.shift_remove(name)),
                None => return cancelled(console),
            }
        }
        let fields = if content.is_empty() { "" } else { ", edit" };
        match decision(console, fields)? {
            Decision::Send => return Ok(ElicitResult::accept(content)),
            Decision::Decline => return Ok(ElicitResult::decline()),
            Decision::Cancel => return Ok(ElicitResult::cancel()),
            Decision::Edit => {}
        }
    }
}

enum Decision {
    Send,
    Edit,
    Decline,
    Cancel,
}

fn decision(console: &mut dyn Console, edit: &str) -> io::Result<Decision> {
    loop {
        console.show(&format!("Send this to the server? yes, no (decline){edit}, cancel: "))?;
        let Some(answer) = console.read_line()? else {
            console.show("\n")?;
            return Ok(Decision::Cancel);
        };
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Decision::Send),
            "e" | "edit" if !edit.is_empty() => return Ok(Decision::Edit),
            "n" | "no" | "decline" => return Ok(Decision::Decline),
            "c" | "cancel" => return Ok(Decision::Cancel),
            _ => {}
        }
    }
}

fn cancelled(console: &mut dyn Console) -> io::Result<ElicitResult> {
    console.show("\n")?;
    Ok(ElicitResult::cancel())
}
