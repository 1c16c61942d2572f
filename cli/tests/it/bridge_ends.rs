//! `trunkline bridge` ends soon, though something waits for input of its client.

use crate::{
    bridge::{Listening, bridge},
    roles::soon,
    servers::fixture,
};
use serde_json::json;
use std::{
    future::pending,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use trunkline::{
    Client, Revision, RevisionChoice,
    client::{ElicitRequest, HandlerError},
    protocol::model::ElicitResult,
    transport::Target,
};

/// Less than the time that a running call has.
const SOON: Duration = Duration::from_secs(3);

/// A client whose user is being asked, by a call or by a task.
async fn asked(target: impl Into<Target>, revision: Revision, as_task: bool) -> Client {
    let is_asked = Arc::new(Notify::new());
    let asking = Arc::clone(&is_asked);
    let ask = move |_: ElicitRequest| {
        asking.notify_one();
        pending::<Result<ElicitResult, HandlerError>>()
    };
    let options = Client::builder().on_elicit(ask).into_options().with_revision(RevisionChoice::Pinned(revision));
    let client = soon(Client::connect_with(target, options, ())).await.unwrap();
    let calling = client.clone();
    tokio::spawn(async move {
        let arguments = json!({"filename": "a"});
        if as_task {
            let task = calling.start_task("confirm_delete", arguments).await.unwrap();
            let _ = task.result().await;
        } else {
            let _ = calling.call_tool("confirm_delete", arguments).await;
        }
    });
    soon(is_asked.notified()).await;
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_does_not_wait_for_input_of_its_client_when_it_ends() {
    for era in ["legacy", "modern"] {
        for (revision, as_task) in [
            (Revision::LATEST_LEGACY, false),
            (Revision::LATEST_LEGACY, true),
            (Revision::LATEST, false),
            (Revision::LATEST, true),
        ] {
            let case = format!("{era} server, {revision} client, as a task: {as_task}");
            let server = ["--".to_owned(), fixture()];
            let there = Listening::start(&["--era", era], server.clone());
            let _client = asked(there.url.as_str(), revision, as_task).await;
            let began = Instant::now();
            drop(there);
            assert!(began.elapsed() < SOON, "over HTTP: {case}: {:?}", began.elapsed());

            let words = ["--era".to_owned(), era.to_owned()].into_iter().chain(server);
            let client = asked(bridge(words), revision, as_task).await;
            let pid = client.pid().unwrap().to_string();
            let began = Instant::now();
            assert!(Command::new("kill").arg(&pid).status().unwrap().success());
            crate::roles::until(|| !crate::roles::runs(&pid));
            assert!(began.elapsed() < SOON, "over a pipe: {case}: {:?}", began.elapsed());
        }
    }
}
