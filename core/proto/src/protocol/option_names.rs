//! Converts option names in messages to the style of a language. The core's messages use the JSON
//! names of options: as the path at the start, such as `options.pageSize:`, or in backticks.

/// The style of option names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptionNames {
    /// The names and paths of the bridge's messages, such as `options.sessionIdleMs`.
    #[default]
    Json,
    /// `session_idle`: Python and Rust.
    Snake,
    /// `sessionIdle`: Node.js.
    Camel,
    /// `session_idle`: C. The members of `auth` and of descriptors are the program's own JSON and
    /// unchanged.
    C,
    /// `SessionIdle`: Go. Options of `auth` are written without it, because they are members too.
    Go,
}

/// The members of messages that contain options; hosts pass these as arguments.
const CONTAINERS: [&str; 4] = ["options", "transport", "client", "info"];

/// Options that contain options.
const AUTH: &str = "auth";

impl OptionNames {
    /// Converts the names in a message.
    pub fn text(self, text: &str) -> String {
        if self == Self::Json {
            return text.to_owned();
        }
        let words: Vec<_> = text.split(' ').collect();
        // In C, unknown options can only come from JSON.
        let is_json = self == Self::C && (is_below_auth(words[0]) || text.contains("unknown option"));
        let word = |(at, word): (usize, &&str)| match at {
            0 => self.first(word),
            // The program's own name; only Python converts option names.
            2.. if words[at - 2..at] == ["unknown", "option"] && self != Self::Snake => Some((*word).to_owned()),
            _ if is_json => Some((*word).to_owned()),
            _ => Some(self.word(word)),
        };
        words.iter().enumerate().filter_map(word).collect::<Vec<_>>().join(" ")
    }

    /// Converts the first word of a message, which may be the path. `None` if it is a container,
    /// which hosts don't have.
    fn first(self, word: &str) -> Option<String> {
        match word.strip_suffix(':') {
            Some(container) if CONTAINERS.contains(&container) => None,
            Some(path) if is_path(path) => Some(format!("{}:", self.path(path))),
            None if word.contains('.') && is_path(word) => Some(self.path(word)),
            _ => Some(self.word(word)),
        }
    }

    /// Converts a word within a message: a name in backticks, or an option with its container.
    fn word(self, word: &str) -> String {
        let is_letter = |c: char| c.is_ascii_alphabetic();
        let name = word.trim_matches(|c: char| !is_letter(c));
        let Some((before, after)) = word.split_once(name).filter(|_| !name.is_empty()) else { return word.to_owned() };
        if before == "`" && after.starts_with('`') && name.chars().all(is_letter) {
            return format!("`{}{after}", self.name(name));
        }
        match name.split_once('.') {
            Some((container, option))
                if before.is_empty()
                    && (CONTAINERS.contains(&container) || container == AUTH)
                    && option.chars().all(is_letter) =>
            {
                format!("{}{after}", self.path(name))
            }
            _ => word.to_owned(),
        }
    }

    /// Converts a path, dropping the containers that hosts don't have. Deeper members belong to the
    /// program.
    pub fn path(self, path: &str) -> String {
        if self == Self::Json {
            return path.to_owned();
        }
        let mut parts: Vec<_> = path.split('.').collect();
        let is_container = |part| CONTAINERS.contains(&part) || part == AUTH && self == Self::Go;
        while parts.len() > 1 && is_container(parts[0]) {
            parts.remove(0);
        }
        let named = if parts[0] == AUTH && self != Self::C { 2 } else { 1 };
        let name = |(at, part): (usize, &&str)| if at < named { self.name(part) } else { (*part).to_owned() };
        parts.iter().enumerate().map(name).collect::<Vec<_>>().join(".")
    }

    /// Converts the name of an option.
    pub fn name(self, json: &str) -> String {
        let name = json.strip_suffix("Ms").unwrap_or(json);
        match self {
            Self::Json => json.to_owned(),
            Self::Camel => name.to_owned(),
            Self::Snake | Self::C => {
                let mut snake = String::with_capacity(name.len() + 4);
                for c in name.chars() {
                    if c.is_ascii_uppercase() {
                        snake.push('_');
                    }
                    snake.push(c.to_ascii_lowercase());
                }
                snake
            }
            Self::Go => Self::Snake.name(json).split('_').map(exported).collect(),
        }
    }
}

/// A word of a name in Go, where abbreviations are in capitals.
fn exported(word: &str) -> String {
    match word {
        "dpop" => "DPoP".to_owned(),
        "ca" | "id" | "idp" | "json" | "jwks" | "mime" | "sse" | "ttl" | "uri" | "url" => word.to_uppercase(),
        _ => {
            let mut letters = word.chars();
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
        }
    }
}

fn is_path(word: &str) -> bool {
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || "._-[]/".contains(c);
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(is_of_one)
}

fn is_below_auth(first: &str) -> bool {
    let mut parts = first.trim_end_matches(':').split('.').skip_while(|part| CONTAINERS.contains(part));
    parts.next() == Some(AUTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of JSON, and the same in the names of Python, of Node.js and of C.
    const TEXTS: [(&str, &str, &str, &str); 11] = [
        (
            "options.pageSize: must be 1 or more",
            "page_size: must be 1 or more",
            "pageSize: must be 1 or more",
            "page_size: must be 1 or more",
        ),
        (
            "transport: unknown option `allowedHost`: did you mean `allowedHosts`?",
            "unknown option `allowed_host`: did you mean `allowed_hosts`?",
            "unknown option `allowedHost`: did you mean `allowedHosts`?",
            "unknown option `allowedHost`: did you mean `allowedHosts`?",
        ),
        (
            "transport: unknown option `sessionIdelMs`: did you mean `sessionIdleMs`?",
            "unknown option `session_idel`: did you mean `session_idle`?",
            "unknown option `sessionIdelMs`: did you mean `sessionIdle`?",
            "unknown option `sessionIdelMs`: did you mean `sessionIdleMs`?",
        ),
        (
            "transport.auth: unknown option `strictTyp`: did you mean `strictType`?",
            "auth: unknown option `strict_typ`: did you mean `strict_type`?",
            "auth: unknown option `strictTyp`: did you mean `strictType`?",
            "auth: unknown option `strictTyp`: did you mean `strictType`?",
        ),
        (
            "transport.auth.strictType: must be true or false, not 5",
            "auth.strict_type: must be true or false, not 5",
            "auth.strictType: must be true or false, not 5",
            "auth.strictType: must be true or false, not 5",
        ),
        (
            "auth.clientId is missing: it needs `clientId` or `clientMetadataUrl`",
            "auth.client_id is missing: it needs `client_id` or `client_metadata_url`",
            "auth.clientId is missing: it needs `clientId` or `clientMetadataUrl`",
            "auth.clientId is missing: it needs `clientId` or `clientMetadataUrl`",
        ),
        (
            "transport.auth.implies.readAll: must be a list, not 3",
            "auth.implies.readAll: must be a list, not 3",
            "auth.implies.readAll: must be a list, not 3",
            "auth.implies.readAll: must be a list, not 3",
        ),
        ("client.options.maxTimeoutMs: no", "max_timeout: no", "maxTimeout: no", "max_timeout: no"),
        (
            "client.roots[0].uri: is missing",
            "roots[0].uri: is missing",
            "roots[0].uri: is missing",
            "roots[0].uri: is missing",
        ),
        (
            "a mounted one has no transport.unixMode, port or unix",
            "a mounted one has no unix_mode, port or unix",
            "a mounted one has no unixMode, port or unix",
            "a mounted one has no unix_mode, port or unix",
        ),
        (
            "info.name must be a string, not client.example.com or \"options.fooBar\"",
            "name must be a string, not client.example.com or \"options.fooBar\"",
            "name must be a string, not client.example.com or \"options.fooBar\"",
            "name must be a string, not client.example.com or \"options.fooBar\"",
        ),
    ];

    #[test]
    fn places_and_names_are_those_of_the_language() {
        for (json, snake, camel, c) in TEXTS {
            for (names, expected) in [
                (OptionNames::Json, json),
                (OptionNames::Snake, snake),
                (OptionNames::Camel, camel),
                (OptionNames::C, c),
            ] {
                assert_eq!(names.text(json), expected);
            }
        }
    }

    #[test]
    fn go_has_its_own_names() {
        for (json, go) in [
            ("options.sessionIdleMs: must be 1 or more", "SessionIdle: must be 1 or more"),
            ("transport.auth.jwksUri: must be a string, not 3", "JWKSURI: must be a string, not 3"),
            (
                "auth.clientId is missing: it needs `clientId` or `dpop`",
                "ClientID is missing: it needs `ClientID` or `DPoP`",
            ),
        ] {
            assert_eq!(OptionNames::Go.text(json), go);
        }
    }
}
