//! The configured servers, and which of them work.

use crate::{
    connection::{Connection, Options},
    failure::Failure,
    flags::ConnectionFlags,
    known_servers::{self, KnownServer},
    login::Asked,
    output::{BOLD, DIM, Output},
    secrets,
    table::{Table, one_line},
    target,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{sync::Semaphore, task::JoinSet};
use trunkline::{client::ServerEntry, protocol::RawJson};

/// Servers that are started at a time.
const MAX_STARTS: usize = 8;

/// A server that works, or why it does not.
type State = Result<Working, Failure>;

struct Working {
    identity: String,
    milliseconds: u128,
}

/// Prints the configured servers, and their state if it is wanted.
pub(super) async fn print(with_states: bool, flags: ConnectionFlags, output: &Output) {
    let all = known_servers::all();
    let states = if with_states { states(&all, flags).await } else { Vec::new() };
    if output.json {
        let entry = |(index, known): (usize, &KnownServer)| {
            let error = known.entry.as_ref().err().map(ToString::to_string);
            let mut entry = json!({"name": known.name, "host": known.host, "file": known.file, "target": target_of(known), "error": error});
            if let Some(state) = states.get(index) {
                entry["status"] = in_json(state);
            }
            entry
        };
        let servers: Vec<Value> = all.iter().enumerate().map(entry).collect();
        output.raw(&RawJson::from_value(&json!({"servers": servers})).unwrap_or_else(|_| RawJson::empty_object()));
        return;
    }
    let mut table = Table::default();
    for (index, known) in all.iter().enumerate() {
        match states.get(index) {
            Some(state) => table.add([&*known.name, &*known.host, mark(state), &in_words(state)]),
            None => table.add([&*known.name, &*known.host, &target_of(known)]),
        }
    }
    if table.is_empty() {
        output.note("no server is configured; looked in:");
        for (host, file) in known_servers::files() {
            output.note(&format!("  {host:17} {}", file.display()));
        }
        return;
    }
    let columns = if with_states { "name, host, state" } else { "name, host, target" };
    output.line(&format!("{BOLD}{}{BOLD:#} ({}) {DIM}{columns}{DIM:#}", "servers", all.len()));
    table.lines("  ").iter().for_each(|line| output.line(line));
}

/// The state of each server. Nobody is asked to log in.
async fn states(all: &[KnownServer], flags: ConnectionFlags) -> Vec<State> {
    let (flags, starts) = (Arc::new(flags), Arc::new(Semaphore::new(MAX_STARTS)));
    let mut states: Vec<Option<State>> = Vec::new();
    let mut running = JoinSet::new();
    for (index, known) in all.iter().enumerate() {
        states.push(None);
        match target::of_known(known, &flags) {
            Ok(server) => {
                let (flags, starts) = (Arc::clone(&flags), Arc::clone(&starts));
                running.spawn(async move {
                    let _start = starts.acquire().await;
                    (index, state(server, &flags).await)
                });
            }
            Err(failure) => states[index] = Some(Err(failure)),
        }
    }
    while let Some(ended) = running.join_next().await {
        if let Ok((index, state)) = ended {
            states[index] = Some(state);
        }
    }
    let lost = || Err(Failure::unreachable("the connection was lost"));
    states.into_iter().map(|state| state.unwrap_or_else(lost)).collect()
}

async fn state(server: target::Server, flags: &ConnectionFlags) -> State {
    let options = Options { asked: Asked::Nobody, ..Options::default() };
    let connection = Connection::open_with(server, flags, options).await?;
    let working = Working { identity: connection.identity(), milliseconds: connection.took.as_millis() };
    connection.close().await;
    Ok(working)
}

fn mark(state: &State) -> &'static str {
    match state {
        Ok(_) => "works",
        Err(failure) => failure.exit.name(),
    }
}

fn in_words(state: &State) -> String {
    match state {
        Ok(Working { identity, milliseconds }) => one_line(&format!("{identity} · {milliseconds} ms")),
        Err(failure) => failure.lines().first().map(|(_, line)| one_line(line)).unwrap_or_default(),
    }
}

fn in_json(state: &State) -> Value {
    match state {
        Ok(Working { identity, milliseconds }) => {
            json!({"works": true, "identity": identity, "milliseconds": milliseconds})
        }
        Err(failure) => {
            let mut status = failure.to_json();
            status["works"] = false.into();
            status
        }
    }
}

/// The command or URL of a configured server, without secrets of the file or the environment.
fn target_of(known: &KnownServer) -> String {
    let target = match (&known.entry, &known.with_placeholders()) {
        (Err(error), _) | (_, Err(error)) => return format!("invalid: {error}"),
        (_, Ok(ServerEntry::Command { command, .. })) => command.join(" "),
        (_, Ok(ServerEntry::Url { url, .. })) => url.clone(),
        (_, Ok(_)) => "of an unknown kind".to_owned(),
    };
    secrets::without(&target, &secrets::of_entry(&known.raw))
}
