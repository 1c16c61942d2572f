//! Clients that are killed, and the servers that they have started.

use crate::process::{File, command, eventually, runs};
use std::{path::PathBuf, process::Stdio};
use trunkline::{Client, transport::ChildCommand};

pub(crate) const ROLE: &str = "a client that is killed";

/// A server that ignores the end of its input and SIGTERM, as does its child. It reports this on
/// the first byte from its client, so the client has fully started it.
const STUBBORN: &str = "trap '' TERM; read -r _; sleep 600 & echo $$ $! >\"$0\"; sleep 600; sleep 600";

pub(crate) fn serve(file: PathBuf) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = ChildCommand::new(["/bin/sh", "-c", STUBBORN, file.to_str().unwrap()]);
    let _ = runtime.block_on(Client::connect(server));
}

#[test]
fn a_killed_client_ends_its_servers_and_their_children() {
    let file = File::new();
    let mut client = command(ROLE, &file).stdout(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
    eventually("the server runs", || file.text().ends_with('\n'));
    let family: Vec<String> = file.text().split_whitespace().map(str::to_owned).collect();
    assert!(family.len() == 2 && family.iter().all(|id| runs(id)), "{family:?}");
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("both are gone", || !family.iter().any(|id| runs(id)));
}
