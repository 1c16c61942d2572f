//! This test binary, run again as a server process: no fixture has to be built or found.

use std::{
    hash::{BuildHasher, RandomState},
    net::TcpListener,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};
use trunkline::transport::{ChildCommand, ChildStderr};

const ROLE: &str = "TRUNKLINE_TEST_ROLE";
const FILE: &str = "TRUNKLINE_TEST_FILE";
const ARGUMENTS: [&str; 4] = ["plays_a_role", "--exact", "--nocapture", "--test-threads=1"];

/// The line before the protocol on the standard output of a role: the test harness has printed
/// before.
pub(crate) const READY: &str = "ready";

/// Maximum wait of a test: anything that takes longer, on any machine, is a hang.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The command that plays a role. `file` is the role's to write to, or to wait for.
pub(crate) fn command(role: &str, file: &File) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ARGUMENTS).env(ROLE, role).env(FILE, &file.0);
    command
}

/// The same for a client of ours.
pub(crate) fn child(role: &str, file: &File) -> ChildCommand {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    ChildCommand::new([program].into_iter().chain(ARGUMENTS.map(str::to_owned)))
        .with_env([(ROLE.into(), role.into()), (FILE.into(), file.0.to_str().unwrap().into())])
        .with_stderr(ChildStderr::Keep)
}

/// Plays the role named by the environment, if any, and then does not return. `serve` gets the role
/// and its file.
pub(crate) fn play(serve: impl FnOnce(&str, PathBuf)) {
    let Ok(role) = std::env::var(ROLE) else { return };
    let file = PathBuf::from(std::env::var_os(FILE).unwrap());
    println!("\n{READY}");
    serve(&role, file);
    std::process::exit(0);
}

/// A port for a test that listens there more than once: the system gives none of these to another
/// socket meanwhile.
pub(crate) fn fixed_port() -> u16 {
    loop {
        let port = 20_000 + (RandomState::new().hash_one(0) % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The path of a file of one test, removed with it; it does not exist at first.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trunkline-it-{}-{number}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    pub(crate) fn create(&self) {
        std::fs::write(&self.0, "").unwrap();
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns whether a process is running, if the system reports it; false otherwise. A zombie is not
/// running.
pub(crate) fn runs(id: &str) -> bool {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        // The state follows the name, which is in parentheses.
        return stat.is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')));
    }
    cfg!(unix) && Command::new("kill").args(["-0", id]).output().unwrap().status.success()
}

/// Returns whether the last process that wrote to a file has said goodbye, or has exited without.
pub(crate) fn has_ended(file: &File) -> bool {
    let text = file.text();
    let last = text.lines().last().and_then(|line| line.split_once(' '));
    last.is_some_and(|(id, what)| what == "ends" || (cfg!(unix) && !runs(id)))
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < DEADLINE, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
