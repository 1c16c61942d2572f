//! Hosts: programs that use servers, and the files that tell them which.

mod entry;
mod host;
mod paths;
mod table;

pub(crate) use entry::{Server, Writer};
pub(crate) use host::{Host, Shape};
pub(crate) use paths::{File, Machine, Scope};
pub(crate) use table::HOSTS;

/// The host of a name.
pub(crate) fn find(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

/// The names of all hosts.
pub(crate) fn names() -> Vec<&'static str> {
    HOSTS.iter().map(|host| host.name).collect()
}
