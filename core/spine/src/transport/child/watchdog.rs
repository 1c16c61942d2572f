//! A watchdog process that ends a server's process group if this process is killed.

use super::reap::reap;
use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Reads the id of the group, then waits until this process exits, which closes the pipe. The
/// server then has the time of [`EXIT_TIMEOUT`](super::EXIT_TIMEOUT) to exit, and after it is
/// terminated, that of [`TERMINATE_TIMEOUT`](super::TERMINATE_TIMEOUT). The group is checked in
/// small steps, because the id of a group without members may be reused; `kill` fails when there
/// are none, and in BusyBox also for a `--` after the signal. Ignores the signals of the terminal.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r group || exit 0; read -r _
for name in TERM KILL; do
  for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 \"-$group\" || exit 0
    sleep 0.1 || sleep 1
  done
  kill \"-$name\" \"-$group\" || exit 0
done";

/// How long a killed shell may take to exit.
const SHELL_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A shell that watches this process. Dropping it ends the shell without affecting the group.
///
/// The shell starts before the group. If this process is killed after starting the group, but
/// before writing its id, nothing ends the group; if the shell started after the group, that gap
/// would be as long as starting a shell takes.
pub(super) struct Watchdog {
    pipe: File,
    process: Child,
}

impl Watchdog {
    /// Starts the shell. If that fails, there is no watchdog.
    pub(super) fn start() -> Option<Self> {
        Self::spawn().inspect_err(report).ok()
    }

    fn spawn() -> std::io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(SCRIPT);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A separate group: it outlives those of the server and of this process.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.current_dir("/").process_group(0).kill_on_drop(true);
        let mut process = command.spawn()?;
        let pipe = process.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?.into_owned_fd()?;
        Ok(Self { pipe: pipe.into(), process })
    }

    /// Watches the process group with this id.
    pub(super) fn watch(&mut self, group: u32) {
        if let Err(error) = self.pipe.write_all(format!("{group}\n").as_bytes()) {
            report(&error);
        }
    }

    /// Ends the shell, and waits for it, because the runtime may end with the last connection of
    /// the process and would not reap it.
    pub(super) async fn end(mut self) {
        let _ = timeout(SHELL_EXIT_TIMEOUT, self.process.kill()).await;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.process.start_kill();
        reap(|| self.process.try_wait());
    }
}

fn report(error: &std::io::Error) {
    tracing::debug!(target: "trunkline::client::child", "cannot start /bin/sh, so servers would outlive a killed client: {error}");
}

#[cfg(test)]
mod tests {
    use super::SCRIPT;
    use std::{
        io::Write,
        os::unix::process::{CommandExt, ExitStatusExt},
        process::{Command, Stdio},
    };

    #[test]
    fn each_installed_shell_ends_the_group() {
        for shell in [&["/bin/sh"][..], &["busybox", "sh"], &["bash"]] {
            let mut watching = Command::new(shell[0]);
            watching.args(&shell[1..]).args(["-c", SCRIPT]).stdin(Stdio::piped()).stderr(Stdio::null());
            let Ok(mut watching) = watching.spawn() else { continue };
            let mut group = Command::new("sleep").arg("20").process_group(0).spawn().unwrap();
            writeln!(watching.stdin.take().unwrap(), "{}", group.id()).unwrap();
            assert_eq!(group.wait().unwrap().signal(), Some(15), "{shell:?}");
            assert!(watching.wait().unwrap().success(), "{shell:?}");
        }
    }
}
