//! The servers of a page.

use super::{
    hub::{Hub, Shared},
    inspector::Inspector,
    state::{CodeForm, Era, ServerChoice, Target},
};
use crate::{
    code,
    failure::Failure,
    flags::ConnectionFlags,
    target::{self, Server},
};
use std::{iter, path::Path, sync::Arc, time::Duration};
use trunkline::wire_log::{self, Observed};

/// The part of a label that links have.
const MAX_ID: usize = 40;

/// The servers that the command line names, in its order: words, the command, those of the file.
pub(super) fn named(
    words: Vec<String>,
    command: Vec<String>,
    config: Option<&Path>,
    connection: &mut ConnectionFlags,
) -> Result<Vec<Server>, Failure> {
    let line = connection.command_line.take();
    let mut servers = Vec::new();
    for word in words {
        let (server, rest) = target::find(vec![word], Vec::new(), connection)?;
        if let Some(member) = rest.first() {
            return Err(Failure::usage(format!("{member:?} is one word too many: a page is about whole servers")));
        }
        servers.push(server);
    }
    connection.command_line = line;
    if !command.is_empty() || connection.command_line.is_some() {
        servers.push(target::find(Vec::new(), command, connection)?.0);
    }
    if let Some(file) = config {
        servers.extend(target::in_file(file, connection)?);
    }
    if servers.is_empty() {
        // The error says what can be named.
        servers.push(target::find(Vec::new(), Vec::new(), connection)?.0);
    }
    check_secrets(servers.len(), connection)?;
    Ok(servers)
}

/// A secret for one server must not reach another one.
fn check_secrets(servers: usize, flags: &ConnectionFlags) -> Result<(), Failure> {
    let given = [
        ("--header", !flags.headers.is_empty()),
        ("--header-file", flags.header_file.is_some()),
        ("--bearer-env", flags.bearer_env.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) if servers > 1 => {
            let failure = Failure::usage(format!("{name} would be sent to all {servers} servers"));
            Err(failure.hint("write the headers of each server into a file, and name that with --config"))
        }
        _ => Ok(()),
    }
}

/// An inspector of each server, with its name in links. `again` is the command line of the page, if
/// there is one.
pub(super) fn inspectors(
    servers: Vec<Server>,
    connection: &ConnectionFlags,
    (linger, has_page): (Duration, bool),
    again: &str,
) -> Result<Vec<(String, Arc<Inspector>)>, Failure> {
    let choices = choices(servers.iter().map(|server| &*server.label));
    let ids: Vec<String> = choices.iter().map(|choice| choice.id.clone()).collect();
    let shared = Arc::new(Shared { servers: choices, linger, ..Shared::default() });
    let inspector = |server: Server| {
        let (label, command) = (server.label.clone(), again.to_owned());
        let target = Target { label, transport: server.transport, command };
        let hub = Hub::new(target, code_forms(&server), Arc::clone(&shared));
        Inspector::new(hub, server, connection.clone(), has_page)
    };
    let inspectors: Vec<_> = ids.into_iter().zip(servers.into_iter().map(inspector)).collect();
    let hubs: Vec<_> = inspectors.iter().map(|(_, inspector)| Arc::clone(&inspector.hub)).collect();
    wire_log::observe(move |observed: Observed<'_>| {
        let client = match &observed {
            Observed::Message(info, _) => info.connection,
            Observed::Http(exchange) => exchange.connection,
            _ => None,
        };
        match hubs.iter().find(|hub| hub.owns(client)) {
            Some(hub) => hub.observed(&observed),
            // An exchange with an authorization server belongs to none of them.
            None => hubs.iter().for_each(|hub| hub.observed(&observed)),
        }
    })
    .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(inspectors)
}

/// Ends all connections.
pub(super) async fn close(inspectors: Vec<(String, Arc<Inspector>)>) {
    let close = |(_, inspector): (String, Arc<Inspector>)| {
        tokio::spawn(async move {
            let ended = Failure::unreachable("The program has ended");
            tokio::join!(inspector.close(Era::Legacy, &ended), inspector.close(Era::Modern, &ended));
        })
    };
    for closing in inspectors.into_iter().map(close).collect::<Vec<_>>() {
        // A panic has been reported.
        let _ = closing.await;
    }
}

/// Names servers in links: by their labels, with a number where two are equal.
fn choices<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<ServerChoice> {
    let mut choices: Vec<ServerChoice> = Vec::new();
    for label in labels {
        let short = label.strip_prefix("https://").or_else(|| label.strip_prefix("http://")).unwrap_or(label);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let plain = |letter: char| if is_plain(letter) { letter } else { '-' };
        let name: String = short.chars().take(MAX_ID).map(plain).collect();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let is_free = |id: &String| choices.iter().all(|choice| choice.id != *id);
        let id = iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or_default();
        choices.push(ServerChoice { id, label: label.to_owned() });
    }
    choices
}

/// The forms in which the page shows a call as code.
fn code_forms(server: &Server) -> Vec<CodeForm> {
    let is_possible = |form: &&code::Form| **form != code::Form::Curl || server.transport == "http";
    let named = |form: &code::Form| CodeForm { form: form.name(), label: form.label() };
    code::Form::all().iter().filter(is_possible).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_different_names_in_links() {
        let labels = ["weather", "npx -y @a/b", "https://a.example/mcp", "weather", "weather-2", &"x".repeat(100)];
        let ids: Vec<String> = choices(labels.into_iter()).into_iter().map(|choice| choice.id).collect();
        assert_eq!(ids[..5], ["weather", "npx--y--a-b", "a.example-mcp", "weather-2", "weather-2-2"]);
        assert_eq!(ids[5].len(), MAX_ID);
    }
}
