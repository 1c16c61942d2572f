//! Forms: asks for each field, then whether to send the form.

use super::{
    dialogue::{decision, paragraph, server},
    field::Entry,
};
use crate::{
    client::ElicitRequest,
    protocol::model::{ElicitAction, ElicitResult, JsonObject},
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
                None => {
                    console.show("\n")?;
                    return Ok(ElicitResult::cancel());
                }
            }
        }
        match decision(console, "Send this to the server?", !content.is_empty())? {
            Some(ElicitAction::Accept) => return Ok(ElicitResult::accept(content)),
            Some(action) => return Ok(ElicitResult { action, ..ElicitResult::default() }),
            None => {}
        }
    }
}
