//! Where the server of a printed call is. Secrets of a configuration become placeholders, which the
//! library replaces when it reads them.

use crate::{failure::Failure, flags::ConnectionFlags};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trunkline::{client::ServerEntry, transport::Target};

pub(super) enum Place {
    Url { url: String, headers: BTreeMap<String, String> },
    Command { command: Vec<String>, more: Map<String, Value> },
}

/// A URL alone, or an entry of a configuration.
pub(super) enum Given<'a> {
    Url(&'a str),
    Entry(Value),
}

impl Place {
    pub(super) fn of(target: &Target, flags: &ConnectionFlags) -> Result<Self, Failure> {
        match target {
            Target::Child(child) => {
                let cwd = child.cwd.as_ref().map(|folder| folder.to_string_lossy().into_owned());
                Ok(Self::command(&child.command, &child.env, cwd, child.inherit_env))
            }
            Target::Entry(ServerEntry::Command { command, env, cwd, inherit_env, .. }) => {
                Ok(Self::command(command, env, cwd.clone(), inherit_env.unwrap_or_default()))
            }
            Target::Entry(ServerEntry::Url { url, headers, .. }) => {
                let written: BTreeMap<_, _> = flags.all_headers()?.into_iter().collect();
                let header = |name: &String| {
                    let value = written.get(name).cloned().unwrap_or_else(|| placeholder(name));
                    (name.clone(), value)
                };
                Ok(Self::Url { url: url.clone(), headers: headers.keys().map(header).collect() })
            }
            Target::Http(endpoint) => Ok(Self::Url { url: endpoint.url.clone(), headers: BTreeMap::new() }),
            _ => Err(Failure::usage("--code: this server cannot be written as code").hint("name it by its URL")),
        }
    }

    fn command(command: &[String], env: &BTreeMap<String, String>, cwd: Option<String>, inherit_env: bool) -> Self {
        let mut more = Map::new();
        if !env.is_empty() {
            more.insert("env".to_owned(), env.keys().map(|name| (name.clone(), placeholder(name))).collect());
        }
        more.extend(cwd.map(|cwd| ("cwd".to_owned(), cwd.into())));
        if inherit_env {
            more.insert("inheritEnv".to_owned(), true.into());
        }
        Self::Command { command: command.to_vec(), more }
    }

    /// The argument with which a client connects.
    pub(super) fn given(&self) -> Given<'_> {
        match self {
            Self::Url { url, headers } if headers.is_empty() => Given::Url(url),
            Self::Url { url, headers } => Given::Entry(json!({"url": url, "headers": headers})),
            Self::Command { command, more } => {
                let mut entry = json!({"command": command.first()});
                if command.len() > 1 {
                    entry["args"] = json!(command[1..]);
                }
                more.iter().for_each(|(name, value)| entry[name] = value.clone());
                Given::Entry(entry)
            }
        }
    }
}

/// `${API_KEY}` for `api-key`.
fn placeholder(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("${{{}}}", name.chars().map(letter).collect::<String>())
}
