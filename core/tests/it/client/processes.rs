//! The client and servers that are its child processes.

use super::{Heard, ms};
use crate::{
    offer::BIG,
    process::{DEADLINE, File, child, eventually, has_ended},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, future::Future};
use tokio::time::timeout;
use trunkline::{
    RevisionChoice,
    client::{Client, ClientError, ClientOptions, ErrorKind, RequestOptions},
    protocol::{RawJson, Revision, model::FailureReason},
    transport::ChildCommand,
};

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("it does not end")
}

async fn connect(command: ChildCommand, options: ClientOptions) -> Result<Client, ClientError> {
    soon(Client::connect_with(command, options, Heard::default())).await
}

fn legacy() -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Legacy)
}

/// The notes of the processes of a file, without their ids, and the number of processes.
fn diary(file: &File) -> (Vec<String>, usize) {
    let text = file.text();
    let lines: Vec<_> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let processes: BTreeSet<_> = lines.iter().map(|(id, _)| *id).collect();
    (lines.iter().map(|(_, what)| (*what).to_owned()).collect(), processes.len())
}

/// STD-03: every line that a process reads is noted.
#[tokio::test]
async fn a_server_that_exits_on_the_probe_is_restarted() {
    let file = File::new();
    let client = connect(child("script fragile", &file), ClientOptions::default()).await.unwrap();
    assert_eq!(client.revision(), Revision::V2025_06_18);
    soon(client.close()).await;
    let (seen, processes) = diary(&file);
    assert_eq!(seen, ["starts", "server/discover", "starts", "initialize", "notifications/initialized", "ends"]);
    assert_eq!(processes, 2);
}

#[tokio::test]
async fn a_client_knows_the_process_that_it_has_started() {
    let file = File::new();
    let client = connect(child("script fragile", &file), legacy()).await.unwrap();
    let text = file.text();
    let started = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, what)| *what == "starts");
    assert_eq!(client.pid().map(|pid| pid.to_string()).as_deref(), started.map(|(id, _)| id));
    soon(client.close()).await;
    assert_eq!(client.pid(), None);
}

#[tokio::test]
async fn disc_22_a_server_that_was_found_to_be_legacy_is_not_probed_again() {
    let file = File::new();
    for _ in 0..3 {
        let client = connect(child("script fragile", &file), ClientOptions::default()).await.unwrap();
        soon(client.close_within(DEADLINE)).await;
    }
    let (seen, processes) = diary(&file);
    assert_eq!((seen.iter().filter(|what| *what == "server/discover").count(), processes), (1, 4));
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls_with_its_last_words() {
    let file = File::new();
    let heard = Heard::default();
    let options = ClientOptions::default().with_reconnect(false);
    let client = soon(Client::connect_with(child("script mortal", &file), options, heard.clone())).await.unwrap();
    let options = RequestOptions::default();
    let waiting = client.request("tools/list", None, &options);
    let (list, call) = soon(async { tokio::join!(waiting, client.call_tool("any", json!({}))) }).await;
    for error in [list.unwrap_err(), call.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Transport);
        let text = error.to_string();
        assert!(text.contains("exited with status 7") && text.ends_with("line 29\nfatal: out of cheese"), "{text}");
        assert!(!text.contains("line 3\n"), "the last lines only: {text}");
        let facts = error.connection().unwrap();
        assert_eq!((facts.reason, facts.exit_code, facts.signal), (Some(FailureReason::Exited), Some(7), None));
        assert_eq!(facts.stderr.unwrap().last().unwrap(), "fatal: out of cheese");
    }
    // A later call gets the reason as well.
    let later = soon(client.call_tool("any", json!({}))).await.unwrap_err();
    assert!(later.to_string().ends_with("fatal: out of cheese"), "{later}");
    client.close().await;
    assert_eq!(heard.all().len(), 1);
    assert_eq!(soon(client.call_tool("any", json!({}))).await.unwrap_err(), later);
}

#[tokio::test]
#[cfg(unix)]
async fn a_program_that_is_not_a_server_is_told_from_a_server_that_fails() {
    use FailureReason::{Exited, InvalidResponse};
    for (script, reason, code) in [
        ("echo Usage: tool", InvalidResponse, None),
        ("echo Usage: tool; exit 2", Exited, Some(2)),
        ("exit 0", Exited, Some(0)),
    ] {
        for choice in [RevisionChoice::Auto, RevisionChoice::Legacy, RevisionChoice::Modern] {
            let options = ClientOptions::default().with_revision(choice);
            let error = connect(ChildCommand::new(["sh", "-c", script]), options).await.err().unwrap();
            let facts = error.connection().unwrap();
            assert_eq!((facts.reason, facts.exit_code), (Some(reason), code), "{choice:?} {script}: {error}");
            let quoted = "not a message: \"Usage: tool\"";
            assert_eq!(error.to_string().contains(quoted), script.contains("Usage"), "{choice:?} {script}: {error}");
        }
    }
}

/// A client of a program that is not a server, spoken to without a probe.
#[cfg(unix)]
async fn of_program(script: &str) -> Client {
    let options =
        ClientOptions::default().with_revision(RevisionChoice::Pinned(Revision::V2026_07_28)).with_reconnect(false);
    connect(ChildCommand::new(["sh", "-c", script]), options).await.unwrap()
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_end_of_a_server_is_noticed_although_what_it_left_behind_has_its_pipes() {
    // The answer that it wrote last still arrives.
    let answer =
        r#"{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}}"#;
    let id = r#"id=${line#*\"id\":}; id=${id%%[,\}]*}"#;
    let answers = format!("case $line in *tools/list*) {id}; echo '{answer}'; exit 3; esac");
    let script = format!("setsid -f sleep 60 2>/dev/null; while read -r line; do {answers}; done");
    let client = of_program(&script).await;
    let options = RequestOptions::default();
    let requests = async {
        tokio::join!(client.request("tools/list", None, &options), client.request("prompts/list", None, &options))
    };
    let (list, lost) = timeout(DEADLINE / 2, requests).await.expect("nobody notices");
    assert!(list.is_ok(), "{list:?}");
    assert!(lost.unwrap_err().to_string().contains("exited with status 3"));
}

#[tokio::test]
#[cfg(unix)]
async fn a_server_that_closes_its_input_ends_the_connection() {
    let client = of_program("exec 0<&-; sleep 60").await;
    let error = soon(async {
        loop {
            let options = RequestOptions::default().with_timeout(ms(1_500));
            match client.request("tools/list", None, &options).await.unwrap_err() {
                ClientError::Timeout(_) => {}
                error => break error,
            }
        }
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("closed its standard input"), "{error}");
    assert_eq!(
        soon(client.call_tool("any", json!({}))).await.unwrap_err(),
        error,
        "whoever calls later hears why as well"
    );
}

#[tokio::test]
#[cfg(unix)]
async fn what_waits_for_a_server_that_does_not_read_is_bounded() {
    let client = of_program("sleep 60").await;
    let params = RawJson::from_value(&json!({"name": "t", "arguments": {"text": "x".repeat(9 << 20)}})).unwrap();
    // Longer than six large requests take to be written on a busy machine.
    let options = RequestOptions::default().with_timeout(ms(2_000));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let (client, params, options) = (client.clone(), params.clone(), options.clone());
        calls.spawn(async move { client.request("tools/call", Some(&params), &options).await.unwrap_err().kind() });
    }
    let kinds = soon(calls.join_all()).await;
    let busy = kinds.iter().filter(|kind| **kind == ErrorKind::Busy).count();
    assert!(
        (2..=4).contains(&busy) && kinds.iter().all(|kind| matches!(kind, ErrorKind::Busy | ErrorKind::Timeout)),
        "{kinds:?}"
    );
    soon(client.close_within(ms(100))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg(unix)]
async fn what_was_sent_last_arrives_whole() {
    let file = File::new();
    let client = of_program(&format!("wc -c > {}", file.path())).await;
    let params = RawJson::from_value(&json!({"requestId": 1, "_meta": {"text": "x".repeat(8 << 20)}})).unwrap();
    client.notify("notifications/cancelled", Some(&params)).unwrap();
    soon(client.close_within(DEADLINE)).await;
    let arrived: usize = file.text().trim().parse().unwrap();
    assert!(arrived > params.as_bytes().len(), "{arrived} bytes");
}

/// STD-14.
#[tokio::test]
async fn a_dead_server_is_restarted_for_the_next_call() {
    let (file, heard) = (File::new(), Heard::default());
    let client = soon(Client::connect_with(child("script mortal", &file), legacy(), heard.clone())).await.unwrap();
    for lives in 1..=3 {
        let error = soon(client.call_tool("any", json!({}))).await.unwrap_err();
        assert_eq!(error.connection().unwrap().exit_code, Some(7), "{error}");
        let (seen, processes) = diary(&file);
        assert_eq!(processes, lives);
        assert_eq!(seen[seen.len() - 4..], ["starts", "initialize", "notifications/initialized", "tools/call"]);
    }
    assert_eq!(heard.all(), ["reconnected"; 2], "the client goes on");
    soon(client.close()).await;
    assert_eq!(soon(client.call_tool("any", json!({}))).await.unwrap_err(), ClientError::Closed);
    assert_eq!(diary(&file).1, 3);
}

#[tokio::test]
async fn what_cannot_be_started_is_a_transport_error() {
    let error = connect(ChildCommand::new(["no-such-program-here"]), ClientOptions::default()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("no-such-program-here"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn std_13_closing_ends_the_input_and_waits_for_the_end() {
    let file = File::new();
    let client = connect(child("script mortal", &file), legacy()).await.unwrap();
    let listing = client.clone();
    let asked = tokio::spawn(async move { listing.list_tools().await });
    eventually("the request has arrived", || diary(&file).0.contains(&"tools/list".into()));
    asked.abort();
    let _ = asked.await;
    soon(client.close_within(DEADLINE)).await;
    let (seen, _) = diary(&file);
    assert_eq!(seen[3..], ["tools/list", "notifications/cancelled", "ends"], "what was said last arrived (STD-10)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_dropped_leaves_no_process_behind() {
    let file = File::new();
    let client = connect(child("script mortal", &file), legacy()).await.unwrap();
    drop(client);
    eventually("the server has ended", || has_ended(&file));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_connection_attempt_leaves_no_process_behind() {
    let file = File::new();
    let command = child("script mute", &file);
    let connecting = tokio::spawn(connect(command, ClientOptions::default()));
    eventually("the server was asked", || diary(&file).0.contains(&"server/discover".into()));
    connecting.abort();
    eventually("the server has ended", || has_ended(&file));

    let options = ClientOptions::default().with_connect_timeout(ms(3_000)).with_close_timeout(DEADLINE);
    let file = File::new();
    let error = connect(child("script mute", &file), options).await.err().unwrap();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(text.starts_with("The server process ") && text.contains("timeout of 3s"), "{text}");
    assert!(text.ends_with("last stderr lines:\nstill loading"), "{text}");
    eventually("the server has ended by itself", || diary(&file).0.last().map(String::as_str) == Some("ends"));
}

#[cfg(unix)]
mod stubborn {
    use super::*;
    use std::time::Instant;

    /// A server of the legacy era in the shell; its first line goes to the file, with its process
    /// id.
    fn shell(file: &File, then: &str) -> ChildCommand {
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}"#;
        let script = format!("trap '' TERM; read line; echo $$ >'{}'; echo '{answer}'; {then}", file.path());
        ChildCommand::new(["sh", "-c", &script])
    }

    fn runs(file: &File) -> bool {
        crate::process::runs(file.text().trim())
    }

    #[tokio::test]
    async fn std_13_a_server_that_ignores_everything_is_killed_in_time() {
        let file = File::new();
        let client = connect(shell(&file, "while :; do sleep 0.05; done"), legacy()).await.unwrap();
        assert!(runs(&file));
        let started = Instant::now();
        let patience = ms(300);
        soon(client.close_within(patience)).await;
        // Once after the end of its input, once after TERM; then it is killed.
        assert!(started.elapsed() >= 2 * patience, "{:?}", started.elapsed());
        assert!(!runs(&file));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connecting_has_a_timeout_and_closing_continues_in_the_background() {
        let file = File::new();
        let script = format!("trap '' TERM; echo $$ >'{}'; while :; do sleep 0.05; done", file.path());
        let options = legacy().with_connect_timeout(ms(500)).with_close_timeout(ms(4_000));
        let started = Instant::now();
        let error = connect(ChildCommand::new(["sh", "-c", &script]), options).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(started.elapsed() < ms(3_900), "{:?}", started.elapsed());
        eventually("the process is gone", || !runs(&file));
    }

    #[tokio::test]
    async fn everyone_who_closes_waits_for_the_end_and_the_least_patient_decides_when() {
        let (file, gate) = (File::new(), File::new());
        let waits = format!("until test -e '{}'; do sleep 0.05; done", gate.path());
        let diagnostics = format!("while read line; do :; done; {waits}; echo slept >>'{}'", file.path());
        let client = connect(shell(&file, &diagnostics), legacy()).await.unwrap();
        // The first caller has stopped waiting; the second one sees the graceful close complete.
        assert!(tokio::time::timeout(ms(20), client.close_within(DEADLINE)).await.is_err());
        gate.create();
        soon(client.close_within(DEADLINE)).await;
        assert!(file.text().ends_with("slept\n"), "{}", file.text());

        let file = File::new();
        let client = connect(shell(&file, "while :; do sleep 0.05; done"), legacy()).await.unwrap();
        let started = Instant::now();
        soon(async { tokio::join!(client.close_within(DEADLINE), client.close_within(ms(50))) }).await;
        assert!(started.elapsed() < DEADLINE, "{:?}", started.elapsed());
        assert!(!runs(&file));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_server_that_closes_its_output_is_ended() {
        let (file, heard) = (File::new(), Heard::default());
        let command = shell(&file, "read line; exec >&-; while read line; do :; done");
        let client = soon(Client::connect_with(command, legacy().with_reconnect(false), heard.clone())).await.unwrap();
        eventually("the end was told", || heard.all().len() == 1);
        assert!(heard.all()[0].contains("closed its standard output"), "{:?}", heard.all());
        eventually("the process is gone", || !runs(&file));
        assert!(soon(client.list_tools()).await.unwrap_err().to_string().contains("closed its standard output"));
    }
}

#[tokio::test]
async fn std_01_params_that_are_written_over_several_lines_cross_as_one() {
    for revision in [Revision::V2025_03_26, Revision::V2026_07_28] {
        let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
        let client = connect(child("server", &File::new()), options).await.unwrap();
        let params =
            RawJson::from_text("{\r\n  \"name\": \"echo\",\n  \"arguments\": {\n \"message\": \"a\\nb\" } }\n".into())
                .unwrap();
        let result = soon(client.request("tools/call", Some(&params), &RequestOptions::default())).await.unwrap();
        assert_eq!(result.parse::<Value>().unwrap()["content"][0]["text"], "a\nb");
        soon(client.close()).await;
    }
}

/// STD-06.
#[tokio::test]
async fn many_calls_and_large_ones_over_one_pipe() {
    for choice in [RevisionChoice::Auto, RevisionChoice::Legacy] {
        let options = ClientOptions::default().with_revision(choice);
        let client = connect(child("server", &File::new()), options).await.unwrap();
        let calls: Vec<_> = (0..500)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move { client.call_tool("echo", json!({"message": number.to_string()})).await })
            })
            .collect();
        let large = "ä\n\u{1F600}".repeat(200_000);
        let echoed = soon(client.call_tool("echo", json!({"message": large}))).await.unwrap();
        assert_eq!(echoed.content[0].as_text(), Some(large.as_str()));
        for (number, call) in calls.into_iter().enumerate() {
            let result = soon(call).await.unwrap().unwrap();
            assert_eq!(result.content[0].as_text(), Some(number.to_string().as_str()));
        }
        let tools = soon(client.list_tools()).await.unwrap();
        assert!(tools.len() > 5, "more than one page (PAG-04)");
        soon(client.close()).await;
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_costs_its_call_only() {
    let max_message_bytes = BIG / 2;
    let client =
        connect(child("server", &File::new()), ClientOptions::default().with_max_message_bytes(max_message_bytes))
            .await
            .unwrap();
    let error = soon(client.call_tool("big", json!({}))).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && error.to_string().contains("bytes"), "{error}");
    let result = soon(client.call_tool("echo", json!({"message": "as ever"}))).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("as ever"));
}
