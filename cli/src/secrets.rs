//! Secrets in a configuration: how they are found, and how they are shown.

use serde_json::{Map, Value};

/// Parts of the names of variables, headers and flags that have secrets.
const NAMES: [&str; 7] = ["key", "token", "secret", "passw", "auth", "cred", "cookie"];
/// Beginnings of common kinds of tokens.
const PREFIXES: [&str; 12] =
    ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "eyJ", "Bearer ", "Basic "];
/// Flags for headers, of the programs that connect to a URL.
const HEADERS: [&str; 3] = ["--header", "-H", "--headers"];
/// A shorter value is too short for a secret.
const MIN_SECRET: usize = 6;
/// How much of a secret is shown, if it is much longer.
const SHOWN: usize = 4;

/// Returns whether a value is a secret in plain text: by its name or its beginning.
pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A path to a file with a secret is none.
    let by_name = NAMES.iter().any(|part| name.contains(part)) && !value.starts_with(['/', '.', '~']);
    let by_value = PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    value.len() >= MIN_SECRET && !has_placeholder(value) && (by_name || by_value)
}

/// Returns whether a value comes from somewhere else when the host reads it.
pub(crate) fn has_placeholder(value: &str) -> bool {
    value.contains("${") || value.contains("{env:") || value.starts_with('$')
}

/// A secret as it is shown: enough to recognize it.
pub(crate) fn masked(value: &str) -> String {
    let shown = if value.chars().count() >= 4 * SHOWN { SHOWN } else { 0 };
    value.chars().take(shown).chain(['…']).collect()
}

/// A secret of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    /// Its member, such as `env.API_KEY`.
    pub(crate) member: String,
    pub(crate) value: String,
}

/// The secrets of an entry of any host, in its variables, headers, arguments and URL.
pub(crate) fn of_entry(entry: &Value) -> Vec<Secret> {
    let Some(entry) = entry.as_object() else { return Vec::new() };
    let named = entry.iter().filter_map(|(member, value)| Some((member, value.as_object()?)));
    let mut all: Vec<Secret> = named.flat_map(|(member, values)| of_object(member, values)).collect();
    for (member, value) in entry {
        match value {
            Value::Array(words) => all.extend(of_words(member, words)),
            Value::String(text) if text.contains("://") => all.extend(of_url(member, text)),
            _ => {}
        }
    }
    all
}

fn of_object(member: &str, values: &Map<String, Value>) -> Vec<Secret> {
    let secret = |(name, value): (&String, &Value)| {
        let value = value.as_str().filter(|value| is_secret(name, value))?;
        Some(Secret { member: format!("{member}.{name}"), value: value.to_owned() })
    };
    // Names of variables, instead of their values.
    if member == "env_http_headers" { Vec::new() } else { values.iter().filter_map(secret).collect() }
}

/// `--api-key VALUE`, `--api-key=VALUE`, `--header 'Authorization: VALUE'`, URLs, and arguments
/// that begin as tokens do.
fn of_words(member: &str, words: &[Value]) -> Vec<Secret> {
    let mut flag = "";
    let mut all = Vec::new();
    for (index, word) in words.iter().filter_map(Value::as_str).enumerate() {
        let member = format!("{member}[{index}]");
        let (given, value) = word.split_once('=').filter(|(name, _)| name.starts_with('-')).unwrap_or((flag, word));
        let header = value.split_once(':').filter(|_| HEADERS.contains(&given));
        let (name, value) = header.map_or((given, value), |(name, value)| (name, value.trim()));
        if is_secret(name, value) && !value.starts_with('-') {
            all.push(Secret { member, value: value.to_owned() });
        } else if value.contains("://") {
            all.extend(of_url(&member, value));
        }
        // mcp-proxy takes the name and the value of a header as two arguments.
        let is_name = header.is_none() && HEADERS.contains(&given) && value == word;
        flag = if is_name || (word.starts_with('-') && !word.contains('=')) { word } else { "" };
    }
    all
}

/// The password of a URL, and query parameters with the names of secrets.
fn of_url(member: &str, url: &str) -> Vec<Secret> {
    let secret = |value: &str| Secret { member: member.to_owned(), value: value.to_owned() };
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = address.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').and_then(|(user, _)| Some(user.split_once(':')?.1));
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    let parameters = parameters.filter(|(name, value)| is_secret(name, value)).map(|(_, value)| value);
    user.filter(|password| !has_placeholder(password)).into_iter().chain(parameters).map(secret).collect()
}

/// A text in which these secrets are masked.
pub(crate) fn without(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(&secret.value, &masked(&secret.value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_found_by_their_names_and_beginnings_and_nothing_else_is() {
        let entry = json!({
            "command": "npx",
            "args": ["-y", "server", "--api-key", "k-0123456789", "--token=t-0123456789", "--key", "${KEY}", "sk-0123456789abcdef", "--key-file", "/etc/key.pem"],
            "bridge": [
                "--header", "Authorization: Bearer abcdef0123456789", "--header=X-Api-Key:h-0123456789", "-H", "X-Team: weather",
                "--headers", "X-Auth", "p-0123456789", "--header", "Authorization: Bearer ${TOKEN}", "https://x.example/mcp?token=u-0123456789",
            ],
            "env": {"API_KEY": "0123456789abcdef", "LEVEL": "debug", "TOKEN": "${env:TOKEN}", "OTHER": "{env:OTHER_KEY}"},
            "headers": {"X-Auth": "Bearer abcdef", "X-Team": "weather"},
            "env_http_headers": {"X-Api-Key": "THE_API_KEY"},
            "url": "https://ada:hunter22@x.example/mcp?api_key=q-0123456789&page=1",
        });
        let found: Vec<_> =
            of_entry(&entry).into_iter().map(|secret| format!("{} {}", secret.member, secret.value)).collect();
        assert_eq!(
            found,
            [
                "env.API_KEY 0123456789abcdef",
                "headers.X-Auth Bearer abcdef",
                "args[3] k-0123456789",
                "args[4] t-0123456789",
                "args[7] sk-0123456789abcdef",
                "bridge[1] Bearer abcdef0123456789",
                "bridge[2] h-0123456789",
                "bridge[7] p-0123456789",
                "bridge[10] u-0123456789",
                "url hunter22",
                "url q-0123456789",
            ]
        );
    }

    #[test]
    fn a_secret_is_masked() {
        assert_eq!(masked("sk-0123456789abcdef"), "sk-0…");
        assert_eq!(masked("hunter2"), "…");
        let secrets = [Secret { member: "a".to_owned(), value: "hunter2".to_owned() }];
        assert_eq!(without("x hunter2 y", &secrets), "x … y");
    }
}
