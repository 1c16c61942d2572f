//! Authorization for one server of a configuration.

use super::{
    config_error::ConfigError,
    server_entry::{AUTH, EntryReader, OAUTH},
};
use serde_json::{Map, Value, json};

/// The value that requests a login with default options.
const LOGIN: &str = "oauth";
/// Cursor's names, and the matching options.
const NAMES: [(&str, &str); 2] = [("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret")];

/// The name and value of an option, converted from a host's own format.
type Renamed = Result<(String, Value), String>;

impl EntryReader<'_> {
    /// The OAuth options as JSON, from `auth`, which may also be a token, or from `oauth`.
    pub(super) fn auth(&self) -> Result<Option<Value>, ConfigError> {
        match (self.given(AUTH), self.given(OAUTH)) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(self.location.member(OAUTH).error("cannot be combined with \"auth\": keep one of them"))
            }
            (Some(Value::String(word)), None) if word == LOGIN => Ok(Some(json!({}))),
            (Some(token @ Value::String(_)), None) => {
                Ok(Some(json!({"token": self.replaced(token, &self.location.member(AUTH))?})))
            }
            (Some(options), None) => self.options(AUTH, options, |name, value| {
                let name = NAMES.into_iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours);
                Ok((name.to_owned(), value))
            }),
            (None, Some(options)) => self.options(OAUTH, options, of_claude_code),
        }
    }

    fn options(
        &self,
        member: &str,
        given: &Value,
        option: fn(&str, Value) -> Renamed,
    ) -> Result<Option<Value>, ConfigError> {
        let location = self.location.member(member);
        let mut options = Map::new();
        for (name, value) in location.object(given)? {
            let location = location.member(name);
            let value = match value {
                Value::String(_) => self.replaced(value, &location)?.into(),
                Value::Array(items) => {
                    let numbered = items.iter().enumerate();
                    let items = numbered.map(|(index, item)| self.replaced(item, &location.member(&index.to_string())));
                    items.collect::<Result<Vec<_>, _>>()?.into()
                }
                other => other.clone(),
            };
            let (name, value) = option(name, value).map_err(|problem| location.error(&problem))?;
            options.insert(name, value);
        }
        Ok(Some(options.into()))
    }
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
