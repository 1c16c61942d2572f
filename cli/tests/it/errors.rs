//! Failures before a server answers.

use crate::{
    program::{Folder, Ran, trunkline},
    servers::{answering, dead, fixture, silent},
};
use serde_json::Value;
use std::thread;

#[test]
fn each_failure_to_connect_says_what_was_tried_and_what_to_do() {
    let html = answering("200 OK", "Content-Type: text/html\r\n", "<html><title>Log in</title></html>");
    let missing = answering("404 Not Found", "Content-Type: text/plain\r\n", "nothing here");
    let closed = answering("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "");
    let dead = dead();
    for (url, code, words) in [
        (&dead, 4, &["start the server, or correct the host and port"][..]),
        (&html, 4, &["text/html"]),
        (&missing, 4, &["404", "endpoints often end in /mcp"]),
        (&closed, 3, &["--bearer-env NAME", "trunkline login http://127.0.0.1"]),
    ] {
        let ran = trunkline(&["list", url]);
        let text = ran.failed(code);
        assert!(text.contains(&format!("  tried: connecting to {url}, any revision\n")), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(text.contains("  do:    "), "{text}");
        assert_eq!(ran.stdout, "");
    }
}

/// Each command that needs a server; `SERVER` stands for its URL.
const COMMANDS: [&str; 13] = [
    "list SERVER",
    "call SERVER echo",
    "read SERVER notes://today",
    "prompt SERVER review",
    "complete SERVER review language=ru",
    "listen SERVER",
    "task start SERVER report",
    "task get SERVER id",
    "task result SERVER id",
    "task cancel SERVER id",
    "task list SERVER",
    "ping SERVER",
    "connect SERVER @notes",
];

/// Servers that cannot be used, and the exit code for each.
fn unusable() -> [(String, i32); 6] {
    [
        (dead(), 4),
        (answering("200 OK", "Content-Type: text/html\r\n", "<html><title>Log in</title></html>"), 4),
        (answering("404 Not Found", "Content-Type: text/plain\r\n", "nothing here"), 4),
        (answering("200 OK", "Content-Type: application/json\r\n", "{}"), 4),
        (answering("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", ""), 3),
        (silent(), 8),
    ]
}

/// Runs a command on a server.
fn run_at(command: &str, url: &str) -> Ran {
    let words: Vec<_> = command.split(' ').map(|word| if word == "SERVER" { url } else { word }).collect();
    trunkline(&[&words[..], &["--connect-timeout", "1s"]].concat())
}

#[test]
fn every_command_says_what_is_wrong_what_was_tried_and_what_to_do() {
    let servers = unusable();
    thread::scope(|scope| {
        for command in COMMANDS {
            let servers = &servers;
            scope.spawn(move || {
                for (url, code) in servers {
                    has_three_lines(run_at(command, url).failed(*code), command);
                }
                let words = command.split(' ').filter(|word| *word != "SERVER");
                let words: Vec<_> = words.chain(["--", "no-such-program"]).collect();
                has_three_lines(trunkline(&words).failed(4), command);
            });
        }
    });
}

#[test]
fn the_report_of_inspect_says_what_is_wrong_what_was_tried_and_what_to_do() {
    for (url, code) in unusable() {
        let ran = run_at("inspect --once SERVER", &url);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let problem = &ran.json()["connections"][0]["problem"];
        assert!(["what", "where", "hint"].iter().all(|line| problem[line].is_string()), "{url}: {problem}");
    }
}

#[test]
fn every_command_says_what_to_do_if_the_server_has_none_of_a_name() {
    for command in [
        "call nonesuch",
        "read none://such",
        "prompt nonesuch",
        "complete nonesuch a=b",
        "task get nonesuch",
        "task result nonesuch",
        "task cancel nonesuch",
    ] {
        for era in ["legacy", "modern"] {
            let words: Vec<_> = command.split(' ').chain(["--era", era, "--"]).collect();
            has_three_lines(trunkline(&[&words[..], &[&*fixture()]].concat()).failed(5), command);
        }
    }
}

#[track_caller]
fn has_three_lines(text: &str, command: &str) {
    for start in ["error: ", "  tried: ", "  do:    "] {
        assert!(text.lines().any(|line| line.starts_with(start)), "{command}: {text}");
    }
}

#[test]
fn r19_a_script_is_not_kept_waiting_for_a_login() {
    let closed = answering("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "");
    for flags in [&[][..], &["--auth", "oauth"], &["--auth", "none"]] {
        let ran = trunkline(&[&["list"][..], flags, &[&*closed]].concat());
        let text = ran.failed(3);
        assert!(text.contains(&format!("trunkline login {closed}")), "{text}");
        let is_without = flags.contains(&"none");
        assert_eq!(!is_without, text.contains("a person has to log in, and there is no terminal"), "{text}");
    }
}

#[test]
fn each_failure_to_start_says_why() {
    let ran = trunkline(&["list", "--", "no-such-program", "x"]);
    let text = ran.failed(4);
    assert!(text.contains("no such program on the PATH") && text.contains("starting `no-such-program x`"), "{text}");
    #[cfg(unix)]
    {
        let ran = trunkline(&["list", "--", "sh", "-c", "echo the database is locked >&2; exit 3"]);
        let text = ran.failed(4);
        assert!(
            text.contains("the database is locked") && text.contains('3') && text.contains("--inherit-env"),
            "{text}"
        );
    }
}

#[test]
fn the_time_is_bounded() {
    let ran = trunkline(&["call", "slow", "ms=60000", "--timeout", "200ms", "--", &fixture()]);
    assert!(ran.failed(8).contains("--timeout"), "{ran:?}");
    #[cfg(unix)]
    {
        let ran = trunkline(&["ping", "--connect-timeout", "300ms", "--", "sleep", "60"]);
        assert!([4, 8].contains(&ran.code.unwrap()), "{ran:?}");
    }
}

#[test]
fn an_error_is_one_line_of_json_if_that_is_wanted() {
    let dead = dead();
    let ran = trunkline(&["list", "--json", &dead]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(4), 1), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    let error = &error["error"];
    assert_eq!((&error["kind"], &error["code"]), (&"unreachable".into(), &"refused".into()), "{error}");
    assert_eq!(error["target"], *dead);
    assert!(error["message"].is_string() && error["hint"].is_string() && error["causes"].is_array(), "{error}");
    let ran = trunkline(&["call", "--json", "add_numbers", "a=x", "--", &fixture()]);
    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "usage");
}

#[test]
fn what_is_no_target_is_named() {
    let folder = Folder::new();
    let empty = folder.write("empty.json", "{}");
    let broken = folder.write("broken.json", "{");
    let two = folder.write("two.json", r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}"#);
    for (words, problem) in [
        (&["ping"][..], "no server is given"),
        (&["ping", folder.path.to_str().unwrap()], "is a folder"),
        (&["ping", "localhost:8000/mcp"], "did you mean http://localhost:8000/mcp?"),
        (&["ping", "mcp.example.com"], "did you mean https://mcp.example.com?"),
        (&["ping", "http://mcp.example.com/mcp"], "--allow-http"),
        (&["ping", "nonesuch"], "neither a URL, a file, nor the name of a configured server"),
        (&["ping", &empty], "has no object \"mcpServers\""),
        (&["ping", &broken], "is not JSON"),
        (&["ping", &two], "names 2 servers"),
        (&["ping", &format!("{two}:c")], "has no server \"c\""),
        (&["ping", "--command", "a 'b"], "open quote"),
        (&["ping", "--revision", "2020-01-01", "https://x.example/"], "is no revision"),
        (&["ping", "--bearer-env", "NONE", "https://x.example/"], "the variable NONE is not set"),
        (&["call", "https://x.example/"], "no tool is given"),
    ] {
        let ran = trunkline(words);
        assert!(ran.failed(2).contains(problem), "{words:?}: {ran:?}");
    }
}
