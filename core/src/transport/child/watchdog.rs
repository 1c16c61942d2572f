//! A process that ends the group of a server when this process was killed, and no code of it runs
//! any more.

use std::process::Stdio;
use tokio::process::{Child, Command};

/// Reads until this process is gone, which closes the pipe. Then the server has the time of
/// [`CloseDeadlines`](super::CloseDeadlines) to end with its input, in steps: the id of a group
/// that has vanished may soon be another one's, and `kill` fails when nobody is left. Signals of
/// the terminal are for the others.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r _
for name in TERM KILL; do
  for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -s 0 -- \"-$0\" || exit 0
    sleep 0.1 || sleep 1
  done
  kill -s $name -- \"-$0\" || exit 0
done";

/// The watchdog of one group. Dropping it ends it, and spares the group.
pub(super) struct Watchdog {
    _shell: Option<Child>,
}

impl Watchdog {
    /// `group`: the id of a process group. Where there is no shell there is no watchdog.
    pub(super) fn of(group: u32) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(SCRIPT).arg(group.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: it outlives those of the server and of this process.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.current_dir("/").process_group(0).kill_on_drop(true);
        let shell = command.spawn();
        if let Err(error) = &shell {
            tracing::debug!(target: "trunkline::client::child", "servers would outlive a killed client: no /bin/sh: {error}");
        }
        Self { _shell: shell.ok() }
    }
}
