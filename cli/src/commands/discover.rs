//! `trunkline discover`: the servers in the files of hosts, and what is wrong with them.

use crate::{
    changes::shown,
    exit::Exit,
    hosts,
    known_servers::{self, KnownServer, Unreadable},
    output::{BOLD, DIM, Output},
    secrets::{self, Secret, masked},
    table::Table,
};
use clap::{Args, builder::PossibleValuesParser};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trunkline::{client::ServerEntry, printable, protocol::RawJson};

/// Find the servers that hosts on this machine use.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline discover                     all hosts, this user and this folder
  trunkline discover --host cursor       the files of one host
  trunkline discover --json              for a script")]
pub(crate) struct Discover {
    /// Only this host. Repeatable.
    #[arg(long = "host", value_name = "NAME", value_parser = PossibleValuesParser::new(hosts::names()))]
    hosts: Vec<String>,
}

/// A server, with what was found about it.
struct Found {
    known: KnownServer,
    state: String,
    secrets: Vec<Secret>,
}

impl Discover {
    pub(crate) fn run(self, output: &Output) -> Exit {
        let (known, unreadable) = known_servers::everything();
        let wanted = |label: &str| {
            let name = if label == "project" { "claude-code" } else { label.trim_start_matches("project-") };
            self.hosts.is_empty() || self.hosts.iter().any(|host| host == name)
        };
        let found = known.into_iter().filter(|known| wanted(&known.host)).map(|known| Found {
            state: state_of(&known),
            secrets: secrets::of_entry(&known.raw),
            known,
        });
        let found: Vec<Found> = found.collect();
        let unreadable: Vec<Unreadable> = unreadable.into_iter().filter(|one| wanted(&one.file.label())).collect();
        match output.json {
            true => print_json(&found, &unreadable, output),
            false => print(&found, &unreadable, &wanted, output),
        }
        Exit::Done
    }
}

/// `ok`, `disabled`, `program not found`, `variable not set`, or the problem.
fn state_of(known: &KnownServer) -> String {
    match known.with_placeholders() {
        _ if !known.is_enabled => "disabled".to_owned(),
        Err(error) => {
            let error = error.to_string();
            // The file has a column of its own.
            format!("invalid: {}", error.split_once(": ").map_or(&*error, |(_, problem)| problem))
        }
        Ok(ServerEntry::Command { command, cwd, .. })
            if !command.first().is_some_and(|program| exists(program, cwd.as_deref())) =>
        {
            "program not found".to_owned()
        }
        Ok(_) if known.entry.is_err() => "variable not set".to_owned(),
        Ok(_) => "ok".to_owned(),
    }
}

/// Returns whether a program is there, or on the PATH.
fn exists(program: &str, folder: Option<&str>) -> bool {
    if program.contains(['/', '\\']) {
        return folder.map_or_else(|| PathBuf::from(program), |folder| Path::new(folder).join(program)).exists();
    }
    let endings = if cfg!(windows) { vec!["", ".exe", ".cmd", ".bat", ".com"] } else { vec![""] };
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder| endings.iter().any(|ending| folder.join(format!("{program}{ending}")).is_file()))
}

/// The other files that have a server of the same name, and whether they mean the same one.
fn duplicates<'a>(all: &'a [Found], one: &Found) -> Vec<(&'a Found, bool)> {
    let others = all.iter().filter(|other| other.known.name == one.known.name && !std::ptr::eq(*other, one));
    let meant = |found: &Found| found.known.with_placeholders().ok();
    others.map(|other| (other, meant(other) == meant(one))).collect()
}

fn print(found: &[Found], unreadable: &[Unreadable], wanted: &dyn Fn(&str) -> bool, output: &Output) {
    if found.is_empty() && unreadable.is_empty() {
        output.note("no server is configured; looked in:");
        for (host, file) in known_servers::files().iter().filter(|(host, _)| wanted(host)) {
            output.note(&format!("  {host:17} {}", shown(file)));
        }
        return;
    }
    let mut table = Table::default();
    for one in found {
        let file = shown(&one.known.file);
        table.add([&*one.known.name, &*one.known.host, &*one.state, &*file]);
    }
    section("servers", "name, host, state, file", found.len(), &table, output);
    let mut table = Table::default();
    let mut count = 0;
    for (one, secret) in found.iter().flat_map(|one| one.secrets.iter().map(move |secret| (one, secret))) {
        table.add([&*one.known.name, &*one.known.host, &format!("{} {}", secret.member, masked(&secret.value))]);
        count += 1;
    }
    section("secrets in plain text", "name, host, member", count, &table, output);
    let mut table = Table::default();
    let mut count = 0;
    for (index, one) in found.iter().enumerate() {
        let others = duplicates(found, one);
        let is_first = !found[..index].iter().any(|before| before.known.name == one.known.name);
        if others.is_empty() || !is_first {
            continue;
        }
        let hosts: Vec<_> = std::iter::once(one).chain(others.iter().map(|(other, _)| *other)).collect();
        let hosts = hosts.iter().map(|found| found.known.host.as_str()).collect::<Vec<_>>().join(", ");
        let is_same = others.iter().all(|(_, is_same)| *is_same);
        table.add([&*one.known.name, &hosts, if is_same { "the same" } else { "different" }]);
        count += 1;
    }
    section("duplicates", "name, hosts", count, &table, output);
    let mut table = Table::default();
    for Unreadable { file, problem } in unreadable {
        table.add([&*file.label(), &*shown(&file.path), problem]);
    }
    section("unreadable files", "host, file, problem", unreadable.len(), &table, output);
}

fn section(title: &str, columns: &str, count: usize, table: &Table, output: &Output) {
    if count > 0 {
        output.line(&format!("{BOLD}{title}{BOLD:#} ({count}) {DIM}{columns}{DIM:#}"));
        table.lines("  ").iter().for_each(|line| output.line(line));
    }
}

fn print_json(found: &[Found], unreadable: &[Unreadable], output: &Output) {
    let server = |one: &Found| {
        let secrets: Vec<Value> = one
            .secrets
            .iter()
            .map(|secret| json!({"member": secret.member, "masked": masked(&secret.value)}))
            .collect();
        let duplicates = duplicates(found, one);
        let duplicates: Vec<Value> = duplicates
            .iter()
            .map(|(other, is_same)| json!({"host": other.known.host, "file": other.known.file, "isSame": is_same}))
            .collect();
        json!({
            "name": one.known.name,
            "host": one.known.host,
            "file": one.known.file,
            "state": printable(&one.state),
            "secrets": secrets,
            "duplicates": duplicates,
        })
    };
    let servers: Vec<Value> = found.iter().map(server).collect();
    let unreadable: Vec<Value> = unreadable
        .iter()
        .map(|Unreadable { file, problem }| json!({"host": file.label(), "file": file.path, "problem": problem}))
        .collect();
    let all = json!({"servers": servers, "unreadable": unreadable});
    output.raw(&RawJson::from_value(&all).unwrap_or_else(|_| RawJson::empty_object()));
}
