//! Runs the program, in an environment of its own.

use serde_json::Value;
use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Anything that takes longer, on any machine, is a hang.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The messages are checked after the tests.
const WIRE_LOG: &str = "TRUNKLINE_WIRE_LOG";

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The standard output, which must be one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the exit code, and that errors have their form: three lines at most begin so, and
    /// nothing else.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("stack backtrace"), "{self:?}");
        for line in self.stderr.lines() {
            let starts = ["error: ", "  tried: ", "  do:    ", "         "];
            assert!(starts.iter().any(|start| line.starts_with(start)), "{line:?} of {self:?}");
        }
        &self.stderr
    }

    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// The program with nothing of the environment but what it needs, and a home folder of its own.
pub(crate) fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    let is_flag = |name: &str| name.starts_with("TRUNKLINE_") && name != WIRE_LOG;
    for (name, _) in std::env::vars().filter(|(name, _)| is_flag(name)) {
        command.env_remove(name);
    }
    command.env("HOME", home).env("USERPROFILE", home).env("APPDATA", home);
    for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
        command.env_remove(name);
    }
    // The keychain is that of the person who runs the tests.
    command.env("TRUNKLINE_STORE", "file");
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// Runs the program.
pub(crate) fn trunkline(words: &[&str]) -> Ran {
    ran(command(&Folder::new().path).args(words))
}

/// Runs a command to its end.
pub(crate) fn ran(command: &mut Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr) = (collected(child.stdout.take()), collected(child.stderr.take()));
    let code = ended(&mut child);
    Ran { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn collected(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.unwrap().read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process.
fn ended(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A folder, removed with its value.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trunkline-cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Writes a file there, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
