//! `listen`.

use crate::{
    program::{Folder, command, trunkline},
    servers::OverHttp,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

struct Listening(Child, Receiver<String>);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts to listen, and waits until the server knows.
fn begin(words: &[&str]) -> Child {
    let home = Folder::new();
    let mut program = command(&home.path);
    let mut child = program.arg("listen").args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut note = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut note).unwrap();
    assert!(note.starts_with("listening to "), "{note}");
    child
}

/// The same, with the lines that it prints.
fn listen(words: &[&str]) -> Listening {
    let mut child = begin(words);
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Listening(child, lines)
}

#[test]
fn changes_are_the_same_lines_in_both_eras() {
    let server = OverHttp::start();
    for era in ["legacy", "modern"] {
        let listening = listen(&[&server.url, "--era", era]);
        trunkline(&["call", &server.url, "test_trigger_tool_change"]).done();
        let line = listening.1.recv_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), json!({"kind": "tools"}), "{era}");
    }
}

#[cfg(unix)]
#[test]
fn it_ends_when_nobody_reads_its_lines() {
    let server = OverHttp::start();
    for era in ["legacy", "modern"] {
        let mut child = begin(&[&server.url, "--era", era]);
        drop(child.stdout.take());
        crate::roles::until(|| {
            trunkline(&["call", "-q", &server.url, "test_trigger_tool_change"]).done();
            child.try_wait().unwrap().is_some()
        });
        assert_eq!(child.wait().unwrap().code(), Some(0), "{era}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_130() {
    let server = OverHttp::start();
    let mut listening = listen(&[&server.url]);
    let pid = listening.0.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(listening.0.wait().unwrap().code(), Some(130));
}
