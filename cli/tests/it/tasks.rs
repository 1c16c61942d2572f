//! `task`, and `call --task`.

#[cfg(unix)]
use crate::program::{Folder, Ran, command, ran};
use crate::{program::trunkline, servers::serve};
#[cfg(unix)]
use serde_json::Value;
use std::time::Duration;
use trunkline::{Context, Server, ServerOptions, Tool, server::TaskSupport};

fn reports() -> String {
    let report = |ctx: Context| async move {
        ctx.set_task_message("half of it is written");
        tokio::time::sleep(Duration::from_millis(100)).await;
        "the report"
    };
    let endless = || async {
        std::future::pending::<()>().await;
        "never"
    };
    let options = ServerOptions::default().with_task_poll_interval(Duration::from_millis(20));
    let server = Server::builder("reports", "1.0.0")
        .options(options)
        .add_tool(Tool::new("report", "Report.", report).task(TaskSupport::Optional))
        .add_tool(Tool::new("endless", "Never.", endless).task(TaskSupport::Optional))
        .tool("quick", "Quick.", async || "at once");
    serve(server.build())
}

/// Where tasks last for several commands: the server itself, or a session with it.
#[cfg(unix)]
fn tasks_of(run: &dyn Fn(&[&str]) -> Ran, target: &str) {
    let id = run(&["task", "start", target, "report"]).done().stdout.trim().to_owned();
    assert_eq!(run(&["task", "result", target, &id]).done().stdout, "the report\n", "{target}");
    let state = run(&["task", "get", target, &id]).done().stdout;
    assert!(state.starts_with(&format!("{id}  completed")), "{target}: {state}");
    assert_eq!(run(&["task", "start", target, "quick"]).done().stdout, "at once\n", "{target}");

    let started: Value = run(&["task", "start", "--json", target, "endless"]).done().json();
    let id = started["taskId"].as_str().unwrap();
    assert_eq!(started["status"], "working", "{target}: {started}");
    run(&["task", "cancel", target, id]).done();
    let cancelled = run(&["task", "result", target, id]);
    assert!(cancelled.failed(130).contains("cancelled") && cancelled.stdout.is_empty(), "{target}: {cancelled:?}");
    let unknown = run(&["task", "get", target, "no-such-task"]);
    assert!(unknown.failed(5).contains("no-such-task"), "{target}: {unknown:?}");
    // Servers of others choose ids that begin like flags.
    for id in ["-tomorrow", "-quick", "--hourly"] {
        let unknown = run(&["task", "get", target, id]);
        assert!(unknown.failed(5).contains(id), "{target}: {unknown:?}");
    }
    let without = run(&["task", "get", target]);
    assert!(without.failed(2).contains("by its id"), "{without:?}");
}

#[cfg(unix)]
#[test]
fn tasks_are_started_followed_and_cancelled_in_both_forms() {
    let (url, home) = (reports(), Folder::new());
    let run = |words: &[&str]| {
        let mut command = command(&home.path);
        ran(command.env("XDG_RUNTIME_DIR", home.path.join("run")).arg("--quiet").args(words))
    };
    tasks_of(&run, &url);
    run(&["connect", "--revision", "2025-11-25", &url, "@reports"]).done();
    tasks_of(&run, "@reports");
    run(&["close", "@reports"]).done();
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_call_that_does_not_run_as_a_task() {
    let (begun, calls) = std::sync::mpsc::channel();
    let stuck = move || {
        begun.send(()).unwrap();
        std::future::pending::<&'static str>()
    };
    let url = serve(Server::builder("stuck", "1.0.0").tool("stuck", "Never.", stuck).build());
    for revision in ["2025-11-25", "2026-07-28"] {
        let home = Folder::new();
        let mut command = command(&home.path);
        let mut call = command.args(["call", "--task", "--revision", revision, &url, "stuck"]).spawn().unwrap();
        calls.recv_timeout(crate::program::DEADLINE).unwrap();
        assert!(std::process::Command::new("kill").args(["-INT", &call.id().to_string()]).status().unwrap().success());
        assert_eq!(call.wait().unwrap().code(), Some(130), "{revision}");
    }
}

#[test]
fn a_call_waits_for_its_task_in_both_forms() {
    let url = reports();
    for revision in ["2025-11-25", "2026-07-28"] {
        for (tool, result) in [("report", "the report\n"), ("quick", "at once\n")] {
            let ran = trunkline(&["-q", "call", "--task", "--revision", revision, &url, tool]).done();
            assert_eq!(ran.stdout, result, "{revision}");
        }
    }
    trunkline(&["-q", "task", "list", &url, "--revision", "2025-11-25"]).done();
    // There is no such list in that revision.
    let modern = trunkline(&["-q", "task", "list", &url, "--revision", "2026-07-28"]);
    assert!(modern.failed(2).contains("2026-07-28"), "{modern:?}");
}
