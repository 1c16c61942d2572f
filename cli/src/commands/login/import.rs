//! `trunkline login --import-mcp-remote`: takes over logins of mcp-remote.

use super::attempt::log_in;
use crate::{
    commands::bridge::Bridge, exit::Exit, failure::Failure, flags::ConnectionFlags, known_servers, login::Asked,
    mcp_remote, output::Output, table::one_line, target,
};
use clap::{Args as _, FromArgMatches as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trunkline::{client::ServerEntry, protocol::RawJson, transport::Target};

/// The failure if mcp-remote has kept no login at this server.
pub(super) fn check(server: &target::Server, flags: &ConnectionFlags) -> Result<(), Failure> {
    let is_kept = match &server.target {
        Target::Entry(ServerEntry::Url { url, .. }) => mcp_remote::login(url, flags).is_some(),
        _ => false,
    };
    match is_kept {
        true => Ok(()),
        false => Err(none(&format!("at {}", server.label))),
    }
}

fn none(place: &str) -> Failure {
    let folder = mcp_remote::folder().unwrap_or_default();
    Failure::usage(format!("mcp-remote has kept no login {place} in {}", folder.display()))
        .hint("pass the --header, --resource and --authorize-param of the old command, or log in again: trunkline login SERVER")
}

/// Takes over the logins at all configured servers.
pub(super) async fn all(given: &ConnectionFlags, output: &Output) -> Result<Exit, Failure> {
    let (mut outcomes, mut worst) = (Vec::new(), Exit::Done);
    for (url, mut flags) in candidates(given) {
        if mcp_remote::login(&url, &flags).is_none() {
            continue;
        }
        flags.login.imports = true;
        let logged_in = match target::find(vec![url.clone()], Vec::new(), &flags) {
            Ok((server, _)) => log_in(server, &flags, Asked::Nobody).await,
            Err(failure) => Err(failure),
        };
        match logged_in {
            Ok((connection, has_token)) => {
                connection.close().await;
                outcomes.push(json!({"server": url, "loggedIn": has_token}));
                if !output.json {
                    output.line(&format!("logged in at {}", one_line(&url)));
                }
            }
            Err(failure) => {
                worst = failure.exit;
                outcomes.push(json!({"server": url, "loggedIn": false}));
                output.failure(&failure);
            }
        }
    }
    if outcomes.is_empty() {
        return Err(none("at a configured server"));
    }
    if output.json {
        output.raw(&RawJson::from_value(&Value::from(outcomes)).unwrap_or_else(|_| RawJson::empty_object()));
    }
    Ok(worst)
}

/// The configured servers that mcp-remote may have logged in at: by their URL, or as an entry that
/// starts a bridge.
fn candidates(given: &ConnectionFlags) -> BTreeMap<String, ConnectionFlags> {
    let mut all = BTreeMap::new();
    for known in known_servers::all() {
        match known.entry {
            Ok(ServerEntry::Url { url, .. }) => {
                all.entry(url).or_insert_with(|| given.clone());
            }
            Ok(ServerEntry::Command { command, .. }) => {
                if let Some((url, flags)) = bridged(&command) {
                    all.insert(url, with_given(flags, given));
                }
            }
            _ => {}
        }
    }
    all
}

/// The flags of an entry, and of the command where they say how its own logins are made and kept.
fn with_given(mut flags: ConnectionFlags, given: &ConnectionFlags) -> ConnectionFlags {
    flags.login.store = given.login.store.clone().or(flags.login.store);
    flags.ca = given.ca.clone().or(flags.ca);
    flags.proxy = given.proxy.clone().or(flags.proxy);
    flags
}

/// The URL and the flags of an entry such as `npx mcp-remote@latest URL --header X:y`.
fn bridged(command: &[String]) -> Option<(String, ConnectionFlags)> {
    let is_bridge = |word: &String| word == "bridge" || word.split('@').next() == Some("mcp-remote");
    let begin = command.iter().position(is_bridge)?;
    let program = Bridge::augment_args(clap::Command::new("bridge"));
    let matches = program.try_get_matches_from(&command[begin..]).ok()?;
    let bridge = Bridge::from_arg_matches(&matches).ok()?;
    let url = bridge.words.first().filter(|word| target::is_url(word))?.clone();
    Some((url, bridge.connection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_start_a_bridge_name_a_server() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for line in [
            "npx -y mcp-remote https://x/mcp --header X:y",
            "npx mcp-remote@0.1.38 https://x/mcp 9696 --header X:y --transport http-only",
            "trunkline bridge https://x/mcp --header X:y",
        ] {
            let (url, flags) = bridged(&words(line)).unwrap();
            assert_eq!((&*url, flags.headers), ("https://x/mcp", vec!["X:y".to_owned()]), "{line}");
        }
        for line in ["npx -y server-everything", "mcp-remote", "trunkline bridge -- server", "trunkline bridge github"]
        {
            assert!(bridged(&words(line)).is_none(), "{line}");
        }
    }
}
