//! Closed clients and servers leak no resources.

use crate::process::{DEADLINE, File, child, command};
use serde_json::json;
use std::{
    fs::{read_dir, read_to_string},
    process::Stdio,
    time::{Duration, Instant},
};
use trunkline::{Client, Params, Server};

/// Processes that count their resources: of a client of a child process, of one over HTTP, and of
/// one in memory.
pub(crate) const ROLES: [&str; 3] = ["counts with a child", "counts over HTTP", "counts in memory"];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

pub(crate) fn serve(role: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // Threads of the runtime and of its pools are started once.
        for _ in 0..3 {
            open_and_close(role).await;
        }
        let before = held();
        for _ in 0..10 {
            open_and_close(role).await;
        }
        // Some of it ends a moment after the close.
        let end = Instant::now() + DEADLINE;
        while held().iter().zip(before).any(|(now, before)| *now > before) {
            assert!(Instant::now() < end, "{before:?} before, {:?} after", held());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

/// The descriptors, threads and child processes of this process.
fn held() -> [usize; 3] {
    let count = |folder: &str| read_dir(folder).unwrap().count();
    let threads = read_dir("/proc/self/task").unwrap().flatten();
    // A thread may end meanwhile.
    let children = threads.map(|thread| read_to_string(thread.path().join("children")).unwrap_or_default());
    let children = children.map(|text| text.split_whitespace().count()).sum();
    [count("/proc/self/fd"), count("/proc/self/task"), children]
}

async fn open_and_close(role: &str) {
    let echo = async |Params(echo): Params<Echo>| echo.message;
    let server = Server::builder("counted", "1.0.0").tool("echo", "Gives it back.", echo).build();
    let listener = match role == ROLES[1] {
        true => Some(server.listen("127.0.0.1:0").await.unwrap()),
        false => None,
    };
    let client = match &listener {
        Some(listener) => Client::connect(listener.url().unwrap()).await.unwrap(),
        None if role == ROLES[0] => Client::connect(child("server", &File::new())).await.unwrap(),
        None => Client::connect(&server).await.unwrap(),
    };
    assert_eq!(client.call_tool("echo", json!({"message": "x"})).await.unwrap().joined_text(), "x");
    client.close().await;
    if let Some(listener) = listener {
        listener.close(Duration::from_secs(5)).await;
    }
}

#[test]
fn clients_and_servers_that_are_closed_leave_nothing() {
    for role in ROLES {
        let counted = command(role, &File::new()).stdin(Stdio::null()).output().unwrap();
        assert!(counted.status.success(), "{role}: {}", String::from_utf8_lossy(&counted.stderr));
    }
}
