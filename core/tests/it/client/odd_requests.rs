//! Odd requests and notifications of servers, of which every language makes the same:
//! `tests/odd-requests.json`. Each arrives while a call is in flight, which must end well.

use super::{odd_answers::Warnings, *};
use crate::process::DEADLINE;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    time::timeout,
};
use trunkline::{
    RequestOptions, RevisionChoice,
    client::{ClientHandlers, HandlerError},
    protocol::model::{CreateMessageResult, ElicitResult, Root, SamplingContent},
    transport::{Channel, ChannelConnector, Target},
};

/// A message of a server, and what a client makes of it.
#[derive(Clone, Deserialize)]
struct Row {
    what: String,
    method: String,
    params: Option<String>,
    /// Members of what is delivered.
    reads: Option<Value>,
    /// The client's own answer.
    answers: Option<Value>,
    #[serde(default)]
    warns: Vec<String>,
    /// Parts of the error, of which it has one: it differs if the request is in a result.
    refused: Option<Vec<String>>,
    #[serde(default)]
    dropped: bool,
    /// Set for what servers of 2026-07-28 cannot ask.
    #[serde(default)]
    legacy: bool,
}

impl Row {
    fn is_request(&self) -> bool {
        !self.method.starts_with("notifications/")
    }

    fn message(&self, token: &Value) -> String {
        let id = if self.is_request() { r#""id":"odd","# } else { "" };
        let params = self.params.as_ref().map(|params| params.replace("\"TOKEN\"", &token.to_string()));
        let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
        format!(r#"{{"jsonrpc":"2.0",{id}"method":"{}"{params}}}"#, self.method)
    }
}

/// Everything that the host and the server get.
#[derive(Clone, Default)]
struct Seen {
    delivered: Arc<Mutex<Vec<Value>>>,
    answer: Arc<Mutex<Option<Value>>>,
}

impl Seen {
    fn deliver(&self, value: impl Serialize) {
        self.delivered.lock().unwrap().push(serde_json::to_value(value).unwrap());
    }
}

impl ClientEvents for Seen {
    fn notification(&self, method: &str, params: Option<&RawJson>) {
        let params = params.map(|params| params.parse::<Value>().unwrap());
        self.deliver(params.unwrap_or_else(|| json!({"method": method})));
    }
}

/// A server that sends the message of a row while it serves a call.
struct Odd {
    row: Row,
    seen: Seen,
    call: Mutex<Value>,
    to_client: mpsc::UnboundedSender<Bytes>,
    from_server: AsyncMutex<mpsc::UnboundedReceiver<Bytes>>,
}

impl Odd {
    fn say(&self, message: impl Into<Bytes>) {
        self.to_client.send(message.into()).unwrap();
    }

    fn answer(&self, id: &Value, result: &Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }

    fn called(&self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        let done = json!({"resultType": "complete", "content": []});
        if params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null() {
            self.call.lock().unwrap().clone_from(id);
            self.say(self.row.message(&params["_meta"]["progressToken"]));
            if !self.row.is_request() {
                self.answer(id, &done);
            }
            return;
        }
        match params["inputResponses"].get("odd") {
            Some(answer) => {
                *self.seen.answer.lock().unwrap() = Some(json!({"result": answer}));
                self.answer(id, &done);
            }
            None => {
                let params = self.row.params.as_deref().unwrap_or("null");
                let request = format!(r#"{{"method":"{}","params":{params}}}"#, self.row.method);
                let result = format!(r#"{{"resultType":"input_required","inputRequests":{{"odd":{request}}}}}"#);
                self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
            }
        }
    }
}

impl Channel for Odd {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message: Value = serde_json::from_slice(&message).unwrap();
        match message["method"].as_str() {
            Some("initialize") => self.answer(
                &message["id"],
                &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}},
                    "serverInfo": {"name": "odd", "version": "1"}}),
            ),
            Some("tools/call") => self.called(&message),
            None if message["id"] == "odd" => {
                *self.seen.answer.lock().unwrap() = Some(message);
                let call = self.call.lock().unwrap().clone();
                self.answer(&call, &json!({"content": []}));
            }
            _ => {}
        }
        Ok(())
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        Ok(self.from_server.lock().await.recv().await)
    }

    async fn close(&self) {}
}

#[expect(deprecated, reason = "older revisions have it")]
fn handlers(seen: &Seen) -> ClientHandlers {
    let (form, url, sample) = (seen.clone(), seen.clone(), seen.clone());
    ClientHandlers::default()
        .on_elicit(move |request| {
            form.deliver(&request.params);
            async { Ok::<_, HandlerError>(ElicitResult::decline()) }
        })
        .on_elicit_url(move |request| {
            url.deliver(&request.params);
            async { Ok::<_, HandlerError>(ElicitResult::decline()) }
        })
        .on_sample_with_tools(move |request| {
            sample.deliver(&request.params);
            let content = SamplingContent::from("hi");
            async { Ok::<_, HandlerError>(CreateMessageResult { content, model: "m".into(), ..Default::default() }) }
        })
}

#[expect(deprecated, reason = "older revisions have it")]
fn options(seen: &Seen, revision: Revision) -> ClientOptions {
    ClientOptions::default()
        .with_revision(RevisionChoice::Pinned(revision))
        .with_handlers(handlers(seen))
        .with_roots(vec![Root::new("file:///work")])
}

/// Plays a row during a call, and returns the outcome of the call.
async fn play(row: &Row, revision: Revision, seen: &Seen) -> Result<(), ClientError> {
    let (served, told) = (row.clone(), seen.clone());
    let target = Target::from(ChannelConnector::new(move || {
        let (row, seen) = (served.clone(), told.clone());
        async move {
            let (to_client, from_server) = mpsc::unbounded_channel();
            let (call, from_server) = (Mutex::default(), AsyncMutex::new(from_server));
            Ok(Odd { row, seen, call, to_client, from_server })
        }
    }));
    let client = Client::connect_with(target, options(seen, revision), seen.clone()).await?;
    let reported = seen.clone();
    let options = RequestOptions::default().with_progress(move |progress, total, message| {
        reported.deliver(json!({"progress": progress, "total": total, "message": message}));
    });
    client.call_tool_with("t", json!({}), &options).await.map(drop)
}

fn verdict(
    row: &Row,
    revision: Revision,
    outcome: &Result<(), ClientError>,
    (seen, log): (&Seen, &Warnings),
) -> Result<(), String> {
    let (delivered, answer) = (seen.delivered.lock().unwrap().clone(), seen.answer.lock().unwrap().clone());
    let is_silent = log.0.lock().unwrap().is_empty();
    if let Some(refused) = &row.refused {
        let error = match (outcome, &answer) {
            (Err(error), _) => error.to_string(),
            (Ok(()), Some(answer)) if answer["error"]["code"].is_i64() => answer["error"]["message"].to_string(),
            (_, answer) => return Err(format!("is answered: {answer:?}")),
        };
        let is_refused = refused.iter().any(|part| error.contains(part)) && delivered.is_empty();
        return if is_refused { Ok(()) } else { Err(format!("{error}, delivered {delivered:?}")) };
    }
    if let Err(error) = outcome {
        return Err(error.to_string());
    }
    match (&row.reads, &row.answers, &delivered[..]) {
        (Some(reads), None, [read]) => has(read, reads)?,
        (None, Some(result), []) => has(&answer.clone().unwrap_or_default()["result"], result)?,
        (None, None, []) if row.dropped => {}
        _ => return Err(format!("delivered {delivered:?}, answered {answer:?}")),
    }
    // Here, a server of 2026-07-28 does not say its name.
    let named = (revision == Revision::V2025_11_25).then(|| " server=odd".to_owned());
    let warns: Vec<_> = row.warns.iter().cloned().chain(named).collect();
    let is_warned = if row.warns.is_empty() { is_silent || row.dropped } else { log.have(&warns) };
    if is_warned { Ok(()) } else { Err("other warnings".to_owned()) }
}

/// Checks the expected members.
fn has(read: &Value, expected: &Value) -> Result<(), String> {
    let wrong = expected.as_object().unwrap().iter().find(|(name, value)| read.get(*name) != Some(*value));
    match wrong {
        Some((name, _)) => Err(format!("{name} is {:?}", read.get(name))),
        None => Ok(()),
    }
}

async fn play_all(revision: Revision, plays: impl Fn(&Row) -> bool) {
    let rows: Vec<Row> = serde_json::from_str(include_str!("../../../../tests/odd-requests.json")).unwrap();
    assert!(rows.len() > 70);
    // With only one subscriber, `tracing` lets the first thread decide for its place in the code.
    let _other = tracing::Dispatch::new(Warnings::default());
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| plays(row)) {
        let (log, seen) = (Warnings::default(), Seen::default());
        let guard = tracing::subscriber::set_default(log.clone());
        let outcome = timeout(DEADLINE, play(row, revision, &seen)).await.expect("it does not end");
        drop(guard);
        if let Err(problem) = verdict(row, revision, &outcome, (&seen, &log)) {
            wrong.push(format!("{}: {}: {problem}: {:?}", row.method, row.what, log.0.lock().unwrap()));
        }
    }
    assert!(wrong.is_empty(), "{revision}:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_odd_message_has_one_verdict() {
    play_all(Revision::V2025_11_25, |_| true).await;
}

/// On 2026-07-28, servers ask in results.
#[tokio::test]
async fn an_odd_request_for_input_has_the_same_verdict() {
    play_all(Revision::V2026_07_28, |row| row.is_request() && !row.legacy).await;
}
