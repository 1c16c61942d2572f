//! Logins with a key in the keychain of the system, and without one. The former need GNOME
//! Keyring, which `cargo xtask test --long` installs.

use crate::{
    login_server::{Desk, LoginServer},
    program::{DEADLINE, Folder, Ran, ran},
};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
const NOWHERE: &str = "unix:path=/nonexistent/bus";

/// The program with a keychain on this bus.
fn at(bus: &str, desk: &Desk, words: &[&str]) -> Command {
    let mut command = desk.trunkline(words);
    command.env_remove("TRUNKLINE_STORE").env(BUS, bus);
    command
}

fn run(bus: &str, desk: &Desk, words: &[&str]) -> Ran {
    ran(&mut at(bus, desk, words))
}

/// The stored credentials, without locks.
fn stored(desk: &Desk) -> String {
    let files = desk.stored().into_iter().filter(|(name, _)| name.ends_with(".json"));
    files.map(|(_, text)| text).collect()
}

#[test]
fn without_a_keychain_a_login_is_kept_in_files_and_says_so_once() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let url = &*server.url();
    let login = run(NOWHERE, &desk, &["login", url]).done();
    assert_eq!(login.stderr.matches("keychain").count(), 1, "{login:?}");
    assert!(login.stderr.contains("/nonexistent/bus") && login.stderr.contains("not encrypted"), "{login:?}");
    assert!(stored(&desk).contains("\"access_token\":\"token-1\""), "{}", stored(&desk));
    // Neither a use nor a renewal is worth a note.
    server.habits().valid.clear();
    let token = run(NOWHERE, &desk, &["token", url]).done();
    assert_eq!((&*token.stdout, &*token.stderr), ("token-2\n", ""));
    let logout = run(NOWHERE, &desk, &["logout", url]).done();
    assert_eq!((stored(&desk), logout.stderr), (String::new(), String::new()));
    assert_eq!(run(NOWHERE, &desk, &["login", "--quiet", url]).done().stderr, "");
}

#[test]
fn a_system_without_a_session_bus_is_told_from_one_that_does_not_answer() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let mut login = at(NOWHERE, &desk, &["login", &server.url()]);
    let login = ran(login.env_remove(BUS).env("XDG_RUNTIME_DIR", &desk.home.path)).done();
    assert!(login.stderr.contains("there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set"), "{login:?}");
}

#[test]
fn a_person_chooses_where_logins_are_kept() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let (url, folder) = (&*server.url(), desk.home.path.join("kept"));
    let login = run(NOWHERE, &desk, &["login", "--store", "file", url]).done();
    assert!(login.stderr.is_empty() && stored(&desk).contains("token-1"), "{login:?}");
    run(NOWHERE, &desk, &["login", "--store", folder.to_str().unwrap(), url]).done();
    assert!(std::fs::read_dir(folder).unwrap().count() > 2);
    assert!(run(NOWHERE, &desk, &["login", "--store", "", url]).failed(2).contains("--store"));
}

/// A session bus with an unlocked keychain, and a home of their own.
struct Session {
    address: String,
    processes: Vec<Child>,
    home: Folder,
}

impl Session {
    fn start() -> Self {
        let home = Folder::new();
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--session", "--nofork", "--print-address=1"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut daemon = daemon.spawn().expect("dbus-daemon is installed");
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let mut session = Self { address: address.trim().to_owned(), processes: vec![daemon], home };
        let mut keyring = Command::new("gnome-keyring-daemon");
        keyring.args(["--unlock", "--foreground", "--components=secrets"]);
        keyring.env(BUS, &session.address).env("HOME", &session.home.path).env("XDG_RUNTIME_DIR", &session.home.path);
        keyring.env_remove("XDG_DATA_HOME").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut keyring = keyring.spawn().expect("gnome-keyring-daemon is installed");
        // The end of the password is that of the input.
        keyring.stdin.take().unwrap().write_all(b"a password").unwrap();
        session.processes.push(keyring);
        session.wait();
        session
    }

    /// Waits until the keychain is on the bus.
    fn wait(&self) {
        let until = Instant::now() + DEADLINE;
        let has_owner = || {
            let mut ask = Command::new("dbus-send");
            ask.args(["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/"]);
            ask.args(["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]);
            ran(ask.env(BUS, &self.address)).stdout.contains("true")
        };
        while !has_owner() {
            assert!(Instant::now() < until, "the keychain does not come");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The socket of the bus.
    fn socket(&self) -> &Path {
        let path = self.address.split("unix:path=").nth(1).and_then(|rest| rest.split(',').next());
        Path::new(path.expect("the bus has a socket"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn r1_a_login_is_encrypted_with_a_key_of_the_keychain() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    let login = run(bus, &desk, &["login", url]).done();
    assert_eq!(login.stderr, "", "{login:?}");
    let text = stored(&desk);
    assert!(text.contains("\"sealed\":") && !text.contains("token") && !text.contains("registered"), "{text}");
    // Programs of others find nothing, and take nothing away.
    run(bus, &desk, &["token", "--store", "file", url]).failed(3);
    assert_eq!(run(bus, &desk, &["token", url]).done().stdout, "token-1\n");
    server.habits().valid.clear();
    assert_eq!(run(bus, &desk, &["token", url]).done().stdout, "token-2\n");
    run(bus, &desk, &["logout", url]).done();
    assert_eq!(stored(&desk), "");
    assert_eq!(server.seen("/revoke").len(), 2);
    assert_eq!(desk.pages().len(), 1);
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn r2_processes_share_a_login_in_the_keychain() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    let logins: Vec<_> = (0..5)
        .map(|_| at(bus, &desk, &["login", url]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        .collect();
    for mut login in logins {
        assert!(login.wait().unwrap().success());
    }
    assert_eq!(desk.pages().len(), 1, "{:?}", desk.pages());
    assert_eq!(server.seen("/token").len(), 1);
    assert_eq!(run(bus, &desk, &["call", url, "look"]).done().stdout, "seen\n");
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn r1_a_login_of_an_earlier_version_moves_into_the_keychain() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    run(bus, &desk, &["login", "--store", "file", url]).done();
    assert!(stored(&desk).contains("token-1"));
    assert_eq!(run(bus, &desk, &["token", url]).done().stdout, "token-1\n");
    assert!(!stored(&desk).contains("token-1"), "{}", stored(&desk));
    assert_eq!(run(bus, &desk, &["token", url]).done().stdout, "token-1\n");
    assert_eq!((desk.pages().len(), server.seen("/register").len()), (1, 1));
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn a_host_that_passes_few_variables_reaches_the_keychain() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let url = &*server.url();
    run(&session.address, &desk, &["login", url]).done();
    symlink(session.socket(), desk.home.path.join("bus")).unwrap();
    let mut token = at("", &desk, &["token", url]);
    token.env_remove(BUS).env("XDG_RUNTIME_DIR", &desk.home.path);
    assert_eq!(ran(&mut token).done().stdout, "token-1\n");
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn over_ssh_a_login_replaces_the_one_of_the_desktop() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    run(bus, &desk, &["login", url]).done();
    let before = stored(&desk);
    let token = run(NOWHERE, &desk, &["token", url]);
    assert_eq!(token.code, Some(3), "{token:?}");
    assert_eq!(token.stderr.matches("neither used nor revoked").count(), 1, "{token:?}");
    assert_eq!(stored(&desk), before);
    run(NOWHERE, &desk, &["login", url]).done();
    assert_eq!(run(NOWHERE, &desk, &["token", url]).done().stdout, "token-2\n");
    assert_eq!(run(bus, &desk, &["token", url]).done().stdout, "token-2\n");
    assert!(!stored(&desk).contains("token-2"), "{}", stored(&desk));
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn over_ssh_a_logout_removes_the_login_of_the_desktop() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    run(bus, &desk, &["login", url]).done();
    let logout = run(NOWHERE, &desk, &["logout", url]).done();
    assert_eq!(stored(&desk), "");
    assert_eq!(logout.stderr.matches("neither used nor revoked").count(), 1, "{logout:?}");
    assert_eq!(server.seen("/revoke").len(), 0);
    run(bus, &desk, &["token", url]).failed(3);
}

#[test]
#[ignore = "needs GNOME Keyring: cargo xtask test --long runs it"]
fn a_locked_keychain_is_named() {
    let (session, server, desk) = (Session::start(), LoginServer::start(), Desk::new());
    let (bus, url) = (&*session.address, &*server.url());
    run(bus, &desk, &["login", url]).done();
    let mut lock = Command::new("dbus-send");
    lock.args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"]);
    lock.args(["org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login"]);
    ran(lock.env(BUS, bus)).done();
    let token = ran(at(bus, &desk, &["token", url]).env_remove("DISPLAY"));
    assert_eq!(token.code, Some(3), "{token:?}");
    assert!(token.stderr.contains("it is locked, and there is no display for its dialog"), "{token:?}");
    // The dialog cannot open on this display, and is dismissed.
    let token = run(bus, &desk, &["token", url]);
    assert_eq!(token.code, Some(3), "{token:?}");
    assert!(token.stderr.contains("it is locked, and its dialog was dismissed"), "{token:?}");
}
