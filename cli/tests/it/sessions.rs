//! `connect`, `close` and `@name`.

use crate::{
    program::{DEADLINE, Folder, Ran, command, ran},
    roles::{Role, runs, until},
};
use std::{
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    time::Instant,
};

/// A home with sessions, which are closed with it.
struct Home(Folder);

impl Home {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn run(&self, words: &[&str]) -> Ran {
        let runtime = self.0.path.join("run");
        ran(command(&self.0.path).env("XDG_RUNTIME_DIR", runtime).args(words))
    }

    fn connect(&self, flags: &[&str], name: &str) -> Ran {
        let server = Role::Server.command();
        let words = ["connect"].into_iter().chain(flags.iter().copied()).chain([name]);
        self.run(&words.chain(server.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    fn pid(&self, name: &str) -> String {
        self.run(&["call", "-q", name, "pid"]).done().stdout.trim().to_owned()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for name in ["@one", "@two"] {
            self.run(&["close", name]);
        }
    }
}

#[test]
fn a_session_keeps_its_server_until_it_is_closed() {
    let home = Home::new();
    let ran = home.connect(&[], "@one").done();
    assert!(ran.stderr.contains("@one: weather 1.4.0") && ran.stdout.is_empty(), "{ran:?}");
    let folder = home.0.path.join("run/trunkline");
    for (path, mode) in [(folder.clone(), 0o700), (folder.join("one.sock"), 0o600), (folder.join("one.log"), 0o600)] {
        let found = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
    let pid = home.pid("@one");
    assert_eq!(home.pid("@one"), pid, "the same process serves the next command");
    assert!(home.run(&["list", "@one"]).done().stdout.contains("forecast"));
    let again = home.connect(&[], "@one");
    assert!(again.failed(2).contains("is open already"), "{again:?}");
    home.connect(&["--share", "caller"], "@two").done();
    assert_ne!(home.pid("@two"), pid);

    let missing = home.run(&["call", "@three", "pid"]);
    assert!(missing.failed(2).contains("open sessions: @one, @two"), "{missing:?}");
    home.run(&["close", "@one"]).done();
    until(|| !runs(&pid));
    assert!(home.run(&["call", "@one", "pid"]).failed(2).contains("not open"));
    home.connect(&[], "@one").done();
    assert_ne!(home.pid("@one"), pid);
}

#[test]
fn a_session_that_is_not_used_ends() {
    let home = Home::new();
    home.connect(&["--idle", "2s"], "@one").done();
    let (pid, began) = (home.pid("@one"), Instant::now());
    until(|| !runs(&pid));
    assert!(began.elapsed() < DEADLINE);
    until(|| home.run(&["call", "@one", "pid"]).code == Some(2));
}

#[test]
fn a_session_whose_bridge_was_killed_is_not_open_and_can_be_opened_again() {
    let home = Home::new();
    home.connect(&[], "@one").done();
    home.connect(&[], "@two").done();
    let pid = home.pid("@one");
    let bridge = Command::new("ps").args(["-o", "ppid=", "-p", &pid]).output().unwrap().stdout;
    let bridge = String::from_utf8(bridge).unwrap().trim().to_owned();
    assert!(Command::new("kill").args(["-9", &bridge]).status().unwrap().success());
    until(|| !runs(&bridge));
    assert!(home.0.path.join("run/trunkline/one.sock").exists());
    for words in [&["list", "@one"][..], &["call", "@one", "pid"], &["close", "@one"]] {
        let said = home.run(words);
        assert!(said.failed(2).contains("@one is not open"), "{words:?}: {said:?}");
        assert!(said.stderr.contains("open sessions: @two;"), "{said:?}");
    }
    home.connect(&[], "@one").done();
    assert_ne!(home.pid("@one"), pid);
    home.run(&["close", "@one"]).done();
    until(|| !runs(&pid));
}

#[test]
fn an_interrupted_connect_leaves_nothing() {
    let home = Home::new();
    let pid = home.0.path.join("pid");
    let script = format!("echo $$ > '{}'; exec sleep 300", pid.display());
    let mut command = command(&home.0.path);
    command.env("XDG_RUNTIME_DIR", home.0.path.join("run")).args(["connect", "@one", "--", "sh", "-c", &script]);
    let mut connecting = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let text = || std::fs::read_to_string(&pid).unwrap_or_default();
    until(|| text().ends_with('\n'));
    let server = text().trim().to_owned();
    assert!(Command::new("kill").args(["-INT", &connecting.id().to_string()]).status().unwrap().success());
    assert_eq!(connecting.wait().unwrap().code(), Some(130));
    until(|| !runs(&server));
    home.connect(&[], "@one").done();
}

#[test]
fn a_session_that_does_not_start_says_why_and_leaves_nothing() {
    let home = Home::new();
    for (words, code, problem) in [
        (&["connect", "@one", "--", "no-such-program-here"][..], 4, "no-such-program-here"),
        (&["connect", "http://127.0.0.1:1/mcp", "@one"], 4, "127.0.0.1:1"),
        (&["connect", "http://127.0.0.1:1/mcp"], 2, "has no name"),
        (&["connect", "http://127.0.0.1:1/mcp", "@a/b"], 2, "letters, digits"),
        (&["connect", "--listen", ":1", "http://127.0.0.1:1/mcp", "@one"], 2, "--listen"),
        (&["close", "@one"], 2, "not open"),
        (&["close", "one"], 2, "begins with @"),
    ] {
        let ran = home.run(words);
        assert!(ran.failed(code).contains(problem), "{words:?}: {ran:?}");
        assert!(!home.0.path.join("run/trunkline/one.sock").exists(), "{words:?}");
    }
}
