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
        (&html, 6, &["text/html", "check the URL"]),
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
const COMMANDS: [&str; 15] = [
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
    "login SERVER",
    "token SERVER",
];

/// Servers that cannot be used, and the exit code for each.
fn unusable() -> [(String, i32); 4] {
    [
        (dead(), 4),
        (answering("404 Not Found", "Content-Type: text/plain\r\n", "nothing here"), 4),
        (answering("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", ""), 3),
        (silent(), 8),
    ]
}

/// Servers that answer a request with what is no response to it, or refuse the handshake.
fn senseless() -> Vec<String> {
    const HTML: &str = "<html><title>Log in</title></html>";
    const JSON: &str = "Content-Type: application/json\r\n";
    const EVENTS: &str = "Content-Type: text/event-stream\r\n";
    let bodies = [
        ("200 OK", "Content-Type: text/html\r\n", HTML),
        ("200 OK", "", ""),
        ("202 Accepted", "", ""),
        ("200 OK", JSON, ""),
        ("200 OK", JSON, HTML),
        ("200 OK", JSON, "{}"),
        ("200 OK", JSON, r#"{"jsonrpc": "2.0", "method": "notifications/message"}"#),
        ("200 OK", JSON, r#"{"jsonrpc": "2.0", "id": 999, "result": {}}"#),
        ("200 OK", EVENTS, "data: <html>\n\n"),
        ("200 OK", EVENTS, "data: {}\n\ndata: {}\n\n"),
        ("400 Bad Request", JSON, r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}}"#),
    ];
    bodies.into_iter().map(|(status, headers, body)| answering(status, headers, body)).collect()
}

/// Runs a command on a server that it fails to use, with this exit code.
fn run_at(command: &str, url: &str, code: i32) -> Ran {
    let words: Vec<_> = command.split(' ').map(|word| if word == "SERVER" { url } else { word }).collect();
    let connect_timeout = if code == 8 { "1s" } else { "30s" };
    trunkline(&[&words[..], &["--connect-timeout", connect_timeout]].concat())
}

#[test]
fn every_command_says_what_is_wrong_what_was_tried_and_what_to_do() {
    let servers = unusable();
    thread::scope(|scope| {
        for command in COMMANDS {
            let servers = &servers;
            scope.spawn(move || {
                for (url, code) in servers {
                    has_three_lines(run_at(command, url, *code).failed(*code), command);
                }
                // These two are for servers with a URL.
                if !command.starts_with("login") && !command.starts_with("token") {
                    let words = command.split(' ').filter(|word| *word != "SERVER");
                    let words: Vec<_> = words.chain(["--", "no-such-program"]).collect();
                    has_three_lines(trunkline(&words).failed(4), command);
                }
            });
        }
    });
}

#[test]
fn every_command_tells_a_server_that_breaks_the_protocol_from_one_that_is_away() {
    let servers = senseless();
    thread::scope(|scope| {
        for (row, command) in COMMANDS.into_iter().enumerate() {
            let servers = &servers;
            scope.spawn(move || {
                for (number, url) in servers.iter().enumerate() {
                    // All commands connect alike: one plays every era, and the others take turns.
                    let turn = ["legacy", "modern"][(row + number) % 2];
                    let eras = if row == 0 { &["auto", "legacy", "modern"][..] } else { &[turn] };
                    for era in eras {
                        let ran = run_at(&format!("{command} --era {era}"), url, 6);
                        has_three_lines(ran.failed(6), &format!("{command}, {era}, body {number}"));
                    }
                }
            });
        }
    });
}

#[cfg(unix)]
#[test]
fn a_process_that_prints_no_message_breaks_the_protocol() {
    let wrong = r#"id=0; while read line; do id=$((id+1)); echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":7}"; done"#;
    for (program, code, said) in [
        ("echo Usage: tool", 6, "not a message: \"Usage: tool\""),
        ("echo '{\"level\":30}'", 6, "not a message"),
        ("echo Usage: tool; exit 2", 4, "not a message: \"Usage: tool\""),
        ("exit 0", 4, "exited with status 0"),
        (wrong, 6, ""),
    ] {
        for era in ["auto", "legacy", "modern"] {
            let ran = trunkline(&["list", "--era", era, "--connect-timeout", "20s", "--", "sh", "-c", program]);
            let text = ran.failed(code);
            assert!(text.contains(said), "{era}: {text}");
            has_three_lines(text, program);
        }
    }
}

#[test]
fn the_report_of_inspect_says_what_is_wrong_what_was_tried_and_what_to_do() {
    let senseless = senseless().into_iter().map(|url| (url, 6));
    for (url, code) in unusable().into_iter().chain(senseless) {
        let ran = run_at("inspect --once SERVER", &url, code);
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
fn a_fault_of_the_command_line_looks_like_any_other() {
    for (words, problem, advice) in [
        (&["list", "--nonesuch", "x"][..], "unexpected argument '--nonesuch'", "trunkline list [OPTIONS] [SERVER]"),
        (&["list", "--timeuot", "1s", "x"], "'--timeuot'", "'--timeout'"),
        (&["call"], "were not provided: <WORD>...", "trunkline call [OPTIONS]"),
        (&["token"], "<SERVER>", " or trunkline token new "),
        (&["listt"], "'listt'", "'list'"),
        (&["list", "--era", "old", "x"], "[possible values: auto, legacy, modern]", "`trunkline help COMMAND`"),
        (&["list", "--timeout", "soon", "x"], "'soon'", "`trunkline help COMMAND`"),
    ] {
        let text = trunkline(words).failed(2).to_owned();
        let (said, to_do) = text.split_once("  do:    ").unwrap_or_else(|| panic!("{text}"));
        assert!(said.contains(problem) && to_do.contains(advice), "{text}");
        let ran = trunkline(&[words, &["--json"]].concat());
        let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        assert_eq!((ran.code, &error["error"]["kind"]), (Some(2), &"usage".into()), "{error}");
    }
    assert!(trunkline(&["list", "--help"]).done().stdout.contains("Usage: trunkline list"));
    assert!(trunkline(&[]).stderr.contains("Usage: trunkline"));
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
        let text = ran.failed(2);
        assert!(text.contains(problem) && text.contains("\n  do:    "), "{words:?}: {ran:?}");
    }
}
