//! A call as a line of a shell.

use super::{call::Written, place::Place};
use crate::{connection::Connection, failure::Failure};
use serde_json::Value;
use trunkline::{
    RequestOptions,
    protocol::{RawJson, method},
    transport::headers_of_request,
};

/// The command of this program.
pub(super) fn trunkline(call: &Written<'_>, label: &str) -> String {
    let mut words = vec!["trunkline".to_owned(), "call".to_owned()];
    if let Place::Url { headers, .. } = &call.place {
        words.push(label.to_owned());
        headers.iter().for_each(|(name, value)| words.extend(["--header".to_owned(), format!("{name}: {value}")]));
    }
    words.push(call.tool.to_owned());
    words.extend(call.arguments.iter().map(|(name, value)| match value {
        // Without a schema, only JSON says that these are strings.
        Value::String(text) if !text.starts_with('@') && !name.contains('.') => format!("{name}={text}"),
        value => format!("{name}:={value}"),
    }));
    if let Place::Command { command, .. } = &call.place {
        words.push("--".to_owned());
        words.extend(command.iter().cloned());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The command of curl, for a server without sessions.
pub(super) async fn curl(call: &Written<'_>, connection: &Connection, params: &RawJson) -> Result<String, Failure> {
    let Place::Url { url, headers } = &call.place else {
        return Err(Failure::usage("--code curl: the server is a command, and has no URL")
            .hint("serve it over HTTP: trunkline bridge --listen :8000 -- COMMAND"));
    };
    let (client, options) = (&connection.client, RequestOptions::default());
    let failed = |error| connection.failure(error, "writing the request");
    let head = client.preview_head(method::TOOLS_CALL, Some(params), &options).map_err(failed)?;
    let Some(head) = head else {
        let revision = client.revision();
        return Err(Failure::usage(format!("--code curl: revision {revision} needs a session before the first call"))
            .hint("--code trunkline, or the name of a language; --era modern, if the server knows a later revision"));
    };
    let message = client.preview(method::TOOLS_CALL, Some(params), &options).map_err(failed)?;
    let mut lines = vec![format!("curl {}", quoted(url))];
    let of_library = headers_of_request(&head).map_err(Failure::usage)?;
    lines.extend(of_library.iter().map(|(name, value)| format!("-H {}", quoted(&format!("{name}: {value}")))));
    // In double quotes, a shell replaces the placeholders.
    lines.extend(headers.iter().map(|(name, value)| format!("-H \"{name}: {}\"", in_double_quotes(value))));
    if matches!(client.access_token().await, Ok(Some(_))) {
        lines.push(format!("-H \"Authorization: Bearer $(trunkline token {})\"", quoted(url)));
    }
    lines.push(format!("-d {}", quoted(&message.to_string())));
    Ok(lines.join(" \\\n  "))
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn in_double_quotes(text: &str) -> String {
    let escaped = |letter: char| match letter {
        '"' | '\\' | '`' => format!("\\{letter}"),
        letter => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}
