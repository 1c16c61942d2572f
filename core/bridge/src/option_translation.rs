//! The names of options in errors, as written in the host's language.

use crate::{BridgeError, ErrorKind};
pub use trunkline::protocol::option_names::OptionNames;

/// Functions of the waist that errors start with. Hosts have other names for them.
const FUNCTIONS: [&str; 4] = ["complete: ", "fail: ", "notify: ", "register: "];

/// Messages with options that errors start with.
const MESSAGES: [&str; 3] = ["open: ", "request: ", "server: "];

/// Converts the names in an error to those of the host.
pub(crate) fn translated(names: OptionNames, error: BridgeError) -> BridgeError {
    if names == OptionNames::Json || error.kind != ErrorKind::InvalidArgument {
        return error;
    }
    let message = &error.message;
    // The members of these messages are not options of the host.
    let message = if let Some(message) = FUNCTIONS.iter().find_map(|start| message.strip_prefix(start)) {
        message.to_owned()
    } else if let Some(message) = MESSAGES.iter().find_map(|start| message.strip_prefix(start)) {
        names.text(message)
    } else {
        of_feature(names, message)
    };
    BridgeError { message, ..error }
}

/// An error about a feature: `tool: deferTask: …` of a message, `Tool a: inputSchema: …` of the
/// registry. Hosts do not see the member of the descriptor.
fn of_feature(names: OptionNames, message: &str) -> String {
    let Some((subject, rest)) = message.split_once(": ") else { return message.to_owned() };
    let (path, problem) = rest.split_once(": ").unwrap_or((rest, ""));
    let is_path = path.chars().all(|c| c.is_ascii_alphanumeric() || "._-[]/".contains(c));
    if !is_path || problem.is_empty() {
        return message.to_owned();
    }
    let is_message = crate::message::Registration::KINDS.contains(&subject);
    match (is_message, names) {
        (true, _) => {
            let within = path.strip_prefix(subject).and_then(|path| path.strip_prefix('.'));
            format!("{}: {problem}", names.path(within.unwrap_or(path)))
        }
        // Programs in C write descriptors as JSON.
        (false, OptionNames::C) => message.to_owned(),
        (false, _) => format!("{subject}: {}: {problem}", names.path(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of JSON, and the same in the names of Python, of Node.js and of C.
    const TEXTS: [(&str, &str, &str, &str); 11] = [
        (
            "server: options.pageSize: must be 1 or more",
            "page_size: must be 1 or more",
            "pageSize: must be 1 or more",
            "page_size: must be 1 or more",
        ),
        (
            "open: transport.idleTimeoutMs: must be x",
            "idle_timeout: must be x",
            "idleTimeout: must be x",
            "idle_timeout: must be x",
        ),
        (
            "open: auth.clientSecret needs `clientId`",
            "auth.client_secret needs `client_id`",
            "auth.clientSecret needs `clientId`",
            "auth.clientSecret needs `clientId`",
        ),
        (
            "server: info.name must be a string",
            "name must be a string",
            "name must be a string",
            "name must be a string",
        ),
        (
            "tool: timeoutMs: must be a non-negative duration, not -1",
            "timeout: must be a non-negative duration, not -1",
            "timeout: must be a non-negative duration, not -1",
            "timeout: must be a non-negative duration, not -1",
        ),
        (
            "tool: deferTask: must be true or false, not 2",
            "defer_task: must be true or false, not 2",
            "deferTask: must be true or false, not 2",
            "defer_task: must be true or false, not 2",
        ),
        ("Tool a: inputSchema: no", "Tool a: input_schema: no", "Tool a: inputSchema: no", "Tool a: inputSchema: no"),
        (
            "Resource template a:{aMs}: mimeType: must be a string, not 3",
            "Resource template a:{aMs}: mime_type: must be a string, not 3",
            "Resource template a:{aMs}: mimeType: must be a string, not 3",
            "Resource template a:{aMs}: mimeType: must be a string, not 3",
        ),
        (
            "tool: tool.inputSchema.default: no",
            "input_schema.default: no",
            "inputSchema.default: no",
            "input_schema.default: no",
        ),
        ("complete: not JSON: x", "not JSON: x", "not JSON: x", "not JSON: x"),
        (
            "request: `inputResponses` and `all` are for a server",
            "`input_responses` and `all` are for a server",
            "`inputResponses` and `all` are for a server",
            "`input_responses` and `all` are for a server",
        ),
    ];

    #[test]
    fn errors_have_the_names_of_the_host() {
        for (json, snake, camel, c) in TEXTS {
            for (names, expected) in [
                (OptionNames::Json, json),
                (OptionNames::Snake, snake),
                (OptionNames::Camel, camel),
                (OptionNames::C, c),
            ] {
                assert_eq!(translated(names, BridgeError::invalid(json)).message, expected);
            }
        }
        let closed = BridgeError::closed();
        assert_eq!(translated(OptionNames::Snake, closed.clone()), closed);
    }
}
