//! Which files of which hosts.

use crate::{
    changes::shown,
    failure::Failure,
    hosts::{self, File, HOSTS, Host, Machine, Scope},
};
use clap::{Args, builder::PossibleValuesParser};

/// The flag for hosts.
#[derive(Args)]
pub(crate) struct PlaceFlags {
    /// The host; by default the only one on this machine. Repeatable.
    #[arg(long = "host", value_name = "NAME", value_parser = PossibleValuesParser::new(hosts::names()))]
    pub(crate) hosts: Vec<String>,
}

impl PlaceFlags {
    /// The file of each host.
    pub(super) fn files_to_write(&self, scope: Scope, force: bool) -> Result<Vec<File>, Failure> {
        let machine = Machine::this();
        let hosts = if self.hosts.is_empty() { vec![only(&machine)?] } else { self.named() };
        hosts.into_iter().map(|host| file_of(&machine, host, scope, force)).collect()
    }

    fn named(&self) -> Vec<&'static Host> {
        self.hosts.iter().filter_map(|name| hosts::find(name)).collect()
    }
}

/// The only host on this machine.
fn only(machine: &Machine<'_>) -> Result<&'static Host, Failure> {
    let has = |host: &&'static Host| machine.files(host, Scope::User).iter().any(|file| machine.has(file));
    let found: Vec<&'static Host> = HOSTS.iter().filter(has).collect();
    match found[..] {
        [only] => Ok(only),
        [] => {
            let files: Vec<File> = HOSTS.iter().flat_map(|host| machine.files(host, Scope::User)).collect();
            Err(Failure::usage("no host was found on this machine")
                .tried(looked_for(&files))
                .hint("name one: --host cursor"))
        }
        _ => {
            let names: Vec<_> = found.iter().map(|host| host.name).collect();
            Err(Failure::usage("there are several hosts on this machine")
                .hint(format!("name one with --host: {}", names.join(", "))))
        }
    }
}

/// The file of a host: one that exists, or else the one to make.
fn file_of(machine: &Machine<'_>, host: &'static Host, scope: Scope, force: bool) -> Result<File, Failure> {
    let files = machine.files(host, scope);
    let existing = files.iter().find(|file| file.path.is_file());
    let Some(file) = existing.or(files.first()) else {
        let message = format!("{} has no file for a {}", host.title, scope.name());
        return Err(Failure::usage(message).hint(match scope {
            Scope::Project => "leave out --scope project",
            Scope::User => "set the variable with the user's folder: HOME, or APPDATA and USERPROFILE",
        }));
    };
    if scope == Scope::User && !force && !files.iter().any(|file| machine.has(file)) {
        let message = format!("{} was not found on this machine", host.title);
        return Err(Failure::usage(message)
            .tried(looked_for(&files))
            .hint(format!("start {} once, or make the file with --force", host.title)));
    }
    Ok(file.clone())
}

pub(crate) fn looked_for(files: &[File]) -> String {
    let mut paths: Vec<_> = files.iter().map(|file| shown(&file.path)).collect();
    paths.dedup();
    format!("looked for {}", paths.join(", "))
}
