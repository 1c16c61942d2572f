//! Names of options in errors, as the host's language has them.

use super::error::{BridgeError, ErrorKind};

/// The form of the names of options in errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptionNames {
    /// The names and the places of the messages of the waist, such as `options.sessionIdleMs`.
    #[default]
    Json,
    /// `session_idle`.
    Snake,
    /// `sessionIdle`.
    Camel,
}

/// The members of messages that hold options; hosts give these as arguments.
const CONTAINERS: [&str; 4] = ["options", "transport", "client", "info"];

/// The functions of the waist at the start of errors; hosts have others.
const FUNCTIONS: [&str; 5] = ["register: ", "complete: ", "fail: ", "request: ", "notify: "];

impl OptionNames {
    /// The error in the names of the host.
    pub(super) fn translate(self, error: BridgeError) -> BridgeError {
        if self == Self::Json || error.kind != ErrorKind::InvalidArgument {
            return error;
        }
        // Of messages whose members are not options of the host.
        if let Some(message) = FUNCTIONS.iter().find_map(|start| error.message.strip_prefix(start)) {
            return BridgeError { message: message.to_owned(), ..error };
        }
        let message = ["open: ", "server: "].iter().find_map(|start| error.message.strip_prefix(start));
        let Some(message) = message else { return error };
        let words: Vec<_> = message.split(' ').filter_map(|word| self.word(word)).collect();
        BridgeError { message: words.join(" "), ..error }
    }

    /// A word of a message; `None`: it says nothing to the host.
    fn word(self, word: &str) -> Option<String> {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let (before, after) = word.split_once(name).filter(|_| !name.is_empty()).unwrap_or((word, ""));
        if before.is_empty() && after == ":" && CONTAINERS.contains(&name) {
            return None;
        }
        let mut parts = name.split('.').collect::<Vec<_>>();
        let is_place = parts.len() > 1 && CONTAINERS.contains(&parts[0]);
        while parts.len() > 1 && CONTAINERS.contains(&parts[0]) {
            parts.remove(0);
        }
        let is_quoted = before.ends_with('`') && after.starts_with('`');
        if !(is_place || is_quoted) {
            return Some(word.to_owned());
        }
        let parts: Vec<_> = parts.into_iter().map(|part| self.name(part)).collect();
        Some(format!("{before}{}{after}", parts.join(".")))
    }

    fn name(self, json: &str) -> String {
        let name = json.strip_suffix("Ms").unwrap_or(json);
        if self == Self::Camel {
            return name.to_owned();
        }
        let mut snake = String::with_capacity(name.len() + 4);
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        snake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names_are_those_of_the_host() {
        for (json, snake, camel) in [
            (
                "server: options.pageSize: must be 1 or more",
                "page_size: must be 1 or more",
                "pageSize: must be 1 or more",
            ),
            ("open: transport.idleTimeoutMs: must be x", "idle_timeout: must be x", "idleTimeout: must be x"),
            (
                "open: transport: unknown option `allowedHost`: is it `allowedHosts`?",
                "unknown option `allowed_host`: is it `allowed_hosts`?",
                "unknown option `allowedHost`: is it `allowedHosts`?",
            ),
            ("open: client.options.maxTimeoutMs: no", "max_timeout: no", "maxTimeout: no"),
            ("server: info.name must be a string", "name must be a string", "name must be a string"),
            ("complete: not JSON: x", "not JSON: x", "not JSON: x"),
            ("Tool a: inputSchema: no", "Tool a: inputSchema: no", "Tool a: inputSchema: no"),
        ] {
            for (names, expected) in
                [(OptionNames::Json, json), (OptionNames::Snake, snake), (OptionNames::Camel, camel)]
            {
                assert_eq!(names.translate(BridgeError::invalid(json)).message, expected);
            }
        }
        let closed = BridgeError::closed();
        assert_eq!(OptionNames::Snake.translate(closed.clone()), closed);
    }
}
