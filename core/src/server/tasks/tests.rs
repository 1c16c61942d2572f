//! Tasks whose result is waited for on more than one connection.

use crate::{
    protocol::{
        Revision,
        model::{ElicitParams, Field, FormSchema},
    },
    server::{
        Context, Server, TaskSupport, ToolEntry,
        tests::{Peer, accept, server, text_of},
    },
    wire_log::Transport,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Asks when it is let.
fn asks_later(gate: &Arc<Semaphore>) -> Server {
    let gate = Arc::clone(gate);
    let ask = move |ctx: Context| {
        let gate = Arc::clone(&gate);
        async move {
            let _permit = gate.acquire().await?;
            let params = ElicitParams::form("Who?", FormSchema::new().required("name", Field::text()));
            let answer = ctx.elicit_as("name", params).await?;
            Ok(serde_json::to_string(&answer.content)?)
        }
    };
    server().entry(ToolEntry::typed("ask", "Asks", ask).task(TaskSupport::Required)).build()
}

async fn session(server: &Server) -> Peer {
    let peer = Peer::with(server, Transport::Http, Some("alice"));
    peer.in_session(Revision::V2025_11_25, json!({"elicitation": {}})).await
}

async fn answer_and_check(peer: &Peer, id: u64) {
    let asked = peer.told("elicitation/create").await;
    peer.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(json!({"name": "Ada"}))}));
    assert!(text_of(&peer.answer(id).await).contains("Ada"));
}

#[tokio::test(start_paused = true)]
async fn tsk_20_the_end_of_one_session_leaves_who_waits_in_another() {
    let gate = Arc::new(Semaphore::new(0));
    let server = asks_later(&gate);
    let (one, other) = (session(&server).await, session(&server).await);
    let created = one.ask("tools/call", json!({"name": "ask", "task": {}})).await;
    let named = json!({"taskId": created["result"]["task"]["taskId"]});
    // As many requests in both: what names a call in one names another there.
    one.request("tasks/result", named.clone());
    other.ask("tools/list", json!({})).await;
    let id = other.request("tasks/result", named);
    one.connection.close();
    gate.add_permits(1);
    answer_and_check(&other, id).await;
}

#[tokio::test(start_paused = true)]
async fn tsk_20_a_question_whose_session_ended_goes_to_who_waits_in_another() {
    let gate = Arc::new(Semaphore::new(1));
    let server = asks_later(&gate);
    let (one, other) = (session(&server).await, session(&server).await);
    let created = one.ask("tools/call", json!({"name": "ask", "task": {}})).await;
    let named = json!({"taskId": created["result"]["task"]["taskId"]});
    one.request("tasks/result", named.clone());
    one.told("elicitation/create").await;
    let id = other.request("tasks/result", named);
    assert_eq!(other.rest().await, [] as [Value; 0], "asked once");
    one.connection.close();
    answer_and_check(&other, id).await;
}
