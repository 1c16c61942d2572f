//! Authorization for one server of a configuration.

use super::{
    config_error::{ConfigError, ConfigValue},
    server_entry::{AUTH, OAUTH},
};
use serde_json::{Map, Value, json};

/// The value that requests a login with default options.
const LOGIN: &str = "oauth";
/// Cursor's names, and the matching options.
const NAMES: [(&str, &str); 2] = [("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret")];

/// The name and value of an option, converted from a host's own format.
type Renamed = Result<(String, Value), String>;

/// The OAuth options of an entry as JSON, from `auth`, which may also be a token, or from `oauth`.
pub(super) fn read(entry: &ConfigValue<'_>) -> Result<Option<Value>, ConfigError> {
    match (entry.given(AUTH), entry.given(OAUTH)) {
        (None, None) => Ok(None),
        (Some(_), Some(other)) => Err(other.error("cannot be combined with \"auth\": keep one of them")),
        (Some(auth), None) => match auth.value.as_str() {
            Some(LOGIN) => Ok(Some(json!({}))),
            Some(_) => Ok(Some(json!({"token": auth.replaced()?}))),
            None => options(&auth, |name, value| {
                let name = NAMES.into_iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours);
                Ok((name.to_owned(), value))
            }),
        },
        (None, Some(oauth)) => options(&oauth, of_claude_code),
    }
}

fn options(given: &ConfigValue<'_>, option: fn(&str, Value) -> Renamed) -> Result<Option<Value>, ConfigError> {
    let options = given.members()?.map(|(name, member)| {
        let value = match member.value {
            Value::String(_) => member.replaced()?.into(),
            Value::Array(_) => member.texts()?.into(),
            other => other.clone(),
        };
        option(name, value).map_err(|problem| member.error(&problem))
    });
    Ok(Some(options.collect::<Result<Map<_, _>, _>>()?.into()))
}

fn of_claude_code(name: &str, value: Value) -> Renamed {
    match (name, &value) {
        ("clientId", _) => Ok((name.to_owned(), value)),
        ("scopes", Value::String(words)) => Ok((name.to_owned(), words.split_whitespace().collect::<Vec<_>>().into())),
        ("scopes", _) => Ok((name.to_owned(), value)),
        ("callbackPort", _) => match value.as_u64().filter(|port| (1..=u64::from(u16::MAX)).contains(port)) {
            Some(port) => Ok(("redirectUri".to_owned(), format!("http://localhost:{port}/callback").into())),
            None => Err("must be a port: a number from 1 to 65535".to_owned()),
        },
        _ => Err("is not supported; use clientId, callbackPort or scopes. \"auth\" takes all OAuth options".to_owned()),
    }
}
