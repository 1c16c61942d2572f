//! A C program's server (`suite_client_requests.c`) asks this client over stdio, in both eras.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{SUITE_C99, command};

const MODERN: &str = "2026-07-28";
/// The text that the server builds from the response to its request.
const ANN: &str = r#"{"action":"accept","content":{"name":"Ann"}}"#;

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    revision: &'static str,
    capabilities: Value,
    id: u64,
    /// Messages other than responses: notifications and requests.
    heard: Vec<Value>,
}

impl Client {
    fn new(revision: &'static str, capabilities: Value) -> Self {
        let mut child = command(&*SUITE_C99)
            .arg("--serve-client-requests")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut client = Self { child, input, output, revision, capabilities, id: 0, heard: Vec::new() };
        if revision != MODERN {
            let info = json!({"name": "asked", "version": "1"});
            let params = json!({"protocolVersion": revision, "capabilities": client.capabilities, "clientInfo": info});
            let opened = client.ask("initialize", params);
            assert_eq!(opened["result"]["protocolVersion"], revision);
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    fn send_request(&mut self, method: &str, mut params: Value) -> u64 {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        self.id
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).unwrap_or_else(|reason| panic!("{line:?} is not JSON: {reason}"))
    }

    /// Makes a request and answers what the server asks in between.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        loop {
            let message = self.receive();
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
            if !message["id"].is_null() {
                let result = answer_to(message["method"].as_str().unwrap_or_default(), &message["params"]);
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            self.heard.push(message);
        }
    }

    /// The same, in as many rounds as needed. Returns their number.
    fn ask_in_rounds(&mut self, method: &str, params: &Value) -> (Value, usize) {
        let mut retry = params.clone();
        for round in 0..5 {
            let answered = self.ask(method, retry);
            let result = &answered["result"];
            if result["resultType"] != "input_required" {
                return (answered, round);
            }
            retry = params.clone();
            retry["requestState"] = result["requestState"].clone();
            let requests = result["inputRequests"].as_object().expect("there are requests");
            retry["inputResponses"] = requests
                .iter()
                .map(|(key, asked)| {
                    (key.clone(), answer_to(asked["method"].as_str().unwrap_or_default(), &asked["params"]))
                })
                .collect();
        }
        panic!("{method} {params} needs more than five rounds");
    }

    fn call(&mut self, tool: &str) -> (Value, usize) {
        self.ask_in_rounds("tools/call", &json!({"name": tool, "arguments": {}}))
    }

    fn counts(&mut self) -> String {
        text(&self.call("counts").0)
    }

    /// Lets the server end by itself; it must not have failed, under a sanitizer neither.
    fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().expect("the server ends").success());
    }
}

fn answer_to(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "decline"}),
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ann"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "small"})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///home"}]}),
        other => panic!("the server asked for {other}"),
    }
}

fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn text(answered: &Value) -> String {
    answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answered}")).to_owned()
}

/// ELI-32, SMP-20, ROOT-08, MRTR-01: on 2026-07-28 the callback is told to stop, and the handler
/// runs again with the answer.
#[test]
fn mrtr_01_questions_are_asked_in_rounds() {
    let mut client = Client::new(MODERN, everything());
    let (answered, rounds) = client.call("ask_name");
    assert_eq!((text(&answered), rounds), (r#"{"action":"accept","content":{"name":"Ann"}}"#.to_owned(), 1));
    // Each run had its own call and callback; the effect happened once, and every destructor ran.
    assert_eq!(client.counts(), "answered 1, suspended 1, refused 0, cancelled 0, freed 4, effects 1");
    assert_eq!(text(&client.call("ask_page").0), r#"{"action":"decline"}"#);
    assert!(text(&client.call("ask_model").0).contains("Ho"));
    assert!(text(&client.call("ask_roots").0).contains("file:///home"));
    assert!(text(&client.call("ask_generally").0).contains("file:///home"));
    assert_eq!(client.counts(), "answered 5, suspended 5, refused 0, cancelled 0, freed 12, effects 1");
    let (prompt, rounds) = client.ask_in_rounds("prompts/get", &json!({"name": "ask_name"}));
    assert!(prompt["result"]["messages"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("Ann")));
    assert_eq!(rounds, 1);
    let (read, rounds) = client.ask_in_rounds("resources/read", &json!({"uri": "notes://ask_name"}));
    assert!(read["result"]["contents"][0]["text"].as_str().is_some_and(|text| text.contains("Ann")));
    assert_eq!(rounds, 1);
    let keys = client.ask("tools/call", json!({"name": "ask_generally"}));
    assert_eq!(keys["result"]["inputRequests"]["general"]["method"], "roots/list");
    assert!(client.heard.is_empty(), "a request or notification was sent: {:?}", client.heard);
    client.end();
}

/// MRTR-08: what the handler memoized is kept for repeated retries.
#[test]
fn mrtr_08_a_repeated_retry_does_not_repeat_an_effect() {
    let mut client = Client::new(MODERN, everything());
    let asked = client.ask("tools/call", json!({"name": "pays", "arguments": {}}));
    let retry = json!({
        "name": "pays",
        "arguments": {},
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"sure": answer_to("elicitation/create", &json!({}))},
    });
    for _ in 0..3 {
        assert_eq!(text(&client.ask("tools/call", retry.clone())), "paid 1 times");
    }
    assert_eq!(client.counts(), "answered 3, suspended 1, refused 0, cancelled 0, freed 4, effects 1");
    client.end();
}

/// A request to the client is cancelled by its ticket; later and unknown tickets are no errors.
#[test]
fn a_question_is_withdrawn() {
    let mut client = Client::new("2025-11-25", everything());
    client.send_request("tools/call", json!({"name": "ask_and_withdraw", "arguments": {}}));
    let [asked, withdrawn, answered] = [(); 3].map(|()| client.receive());
    assert_eq!(text(&answered), "cancelled");
    assert_eq!(asked["method"], "roots/list");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"], json!({"requestId": asked["id"], "reason": "no longer needed"}));
    assert_eq!(client.counts(), "answered 0, suspended 0, refused 0, cancelled 1, freed 1, effects 0");
    client.end();
}

/// MRTR-20: in the legacy era the same handlers ask while their call waits.
#[test]
fn mrtr_20_questions_are_asked_while_the_call_waits() {
    let mut client = Client::new("2025-11-25", everything());
    assert_eq!(text(&client.call("ask_name").0), r#"{"action":"accept","content":{"name":"Ann"}}"#);
    assert_eq!(client.counts(), "answered 1, suspended 0, refused 0, cancelled 0, freed 2, effects 1");
    assert_eq!(text(&client.call("ask_page").0), r#"{"action":"decline"}"#);
    assert!(text(&client.call("ask_model").0).contains("Ho"));
    assert!(text(&client.call("ask_roots").0).contains("file:///home"));
    assert!(text(&client.call("ask_generally").0).contains("file:///home"));
    assert_eq!(text(&client.call("require_input").0), r#"step 1: "Ann""#);
    let methods: Vec<_> = client.heard.iter().filter_map(|asked| asked["method"].as_str()).collect();
    let elicitation = "elicitation/create";
    assert_eq!(methods, [elicitation, elicitation, "sampling/createMessage", "roots/list", "roots/list", elicitation]);
    client.end();
}

/// MRTR-05, MRTR-06, MRTR-12: the primitive; its state is returned unchanged or not at all.
#[test]
fn mrtr_06_required_input_brings_back_its_state() {
    let mut client = Client::new(MODERN, everything());
    let (answered, rounds) = client.call("require_input");
    assert_eq!((text(&answered), rounds), (r#"step 1: "Ann""#.to_owned(), 1));
    let first = client.ask("tools/call", json!({"name": "require_input"}));
    let state = first["result"]["requestState"].as_str().expect("there is a state").to_owned();
    assert!(!state.contains("step"), "the state can be read: {state}");
    let changed = json!({"name": "require_input", "requestState": format!("{state}A"), "inputResponses": {}});
    assert_eq!(client.ask("tools/call", changed)["error"]["code"], -32602);
    client.end();
}

/// MRTR-04, ELI-04, ROOT-07: what the client did not declare is refused, to the callback;
/// `trunkline_call_fail_with` passes it on.
#[test]
fn mrtr_04_a_client_that_cannot_answer_is_not_asked() {
    for revision in ["2025-11-25", MODERN] {
        let mut client = Client::new(revision, json!({}));
        for tool in ["ask_name", "ask_page", "ask_model", "ask_roots", "ask_generally"] {
            let (answered, _) = client.call(tool);
            assert!(answered["error"]["code"].is_i64(), "{revision} {tool}: {answered}");
        }
        assert!(client.counts().starts_with("answered 0, suspended 0, refused 5, cancelled 0, freed 6"));
        assert!(client.heard.is_empty(), "{:?}", client.heard);
        client.end();
    }
}

/// A call cancelled while its client waits for the user: the callback is notified, and everything
/// is released.
#[test]
fn a_question_ends_with_its_call() {
    let mut client = Client::new("2025-11-25", everything());
    let call = client.send_request("tools/call", json!({"name": "ask_name", "arguments": {}}));
    let asked = client.receive();
    assert_eq!(asked["method"], "elicitation/create");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    assert_eq!(client.receive()["method"], "notifications/cancelled");
    // The client is notified first, the callback when its turn comes.
    let end = Instant::now() + Duration::from_secs(30);
    while client.counts().contains("cancelled 0") && Instant::now() < end {
        sleep(Duration::from_millis(5));
    }
    assert_eq!(client.counts(), "answered 0, suspended 0, refused 0, cancelled 1, freed 2, effects 1");
    client.end();
}

/// LOG-02, LOG-04: messages go to who wants them, at their level.
#[test]
fn log_02_messages_at_the_level_that_was_asked_for() {
    let mut client = Client::new("2025-11-25", json!({}));
    client.ask("logging/setLevel", json!({"level": "error"}));
    assert_eq!(text(&client.call("log").0), "logged");
    assert_eq!(client.heard.len(), 1, "{:?}", client.heard);
    assert_eq!(client.heard[0]["params"], json!({"level": "error", "logger": "db", "data": {"rows": 3}}));
    client.ask("logging/setLevel", json!({"level": "debug"}));
    client.call("log");
    assert_eq!(client.heard[1]["params"], json!({"level": "info", "data": "a text"}));
    client.end();
    let mut client = Client::new(MODERN, json!({}));
    assert_eq!(text(&client.call("log").0), "logged");
    assert!(client.heard.is_empty(), "{:?}", client.heard);
    client.end();
}

fn tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

/// The task once it has that status.
fn reached(client: &mut Client, task: &Value, status: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let got = client.ask("tasks/get", json!({"taskId": task}))["result"].take();
        if got["status"] == status {
            return got;
        }
        assert!(Instant::now() < deadline, "{got}");
        sleep(Duration::from_millis(10));
    }
}

/// TKX-02, TKX-06, TKX-30: a call becomes a task when its handler says so, and stays a call for
/// clients without tasks.
#[test]
fn tkx_02_tkx_06_tkx_30_a_call_becomes_a_task() {
    let mut client = Client::new(MODERN, tasks());
    let created = client.ask("tools/call", json!({"name": "task", "arguments": {}}));
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let done = reached(&mut client, &created["result"]["taskId"], "completed");
    assert_eq!(done["statusMessage"], "half way", "{done}");
    assert_eq!(done["result"]["content"][0]["text"], "done as a task", "{done}");
    client.end();
    let mut client = Client::new(MODERN, json!({}));
    assert_eq!(text(&client.call("task").0), "done as a task");
    client.end();
}

/// TKX-10, TKX-17: a task shows its requests, and continues with the answer.
#[test]
fn tkx_10_tkx_17_a_task_asks() {
    let mut client = Client::new(MODERN, tasks());
    let created = client.ask("tools/call", json!({"name": "task_that_asks", "arguments": {}}));
    let task = created["result"]["taskId"].clone();
    let waits = reached(&mut client, &task, "input_required");
    let (key, asked) = waits["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("it asks");
    assert_eq!(asked["method"], "elicitation/create");
    let answers = json!({key: answer_to("elicitation/create", &asked["params"])});
    let updated = client.ask("tasks/update", json!({"taskId": task, "inputResponses": answers}));
    assert_eq!(updated["result"]["resultType"], "complete", "{updated}");
    let done = reached(&mut client, &task, "completed");
    assert_eq!(text(&done), ANN, "{done}");
    client.end();
}

/// TSK-10, TSK-15, TSK-18, TSK-20, TSK-21: on 2025-11-25 the client makes the task, and
/// `tasks/result` waits for the result.
#[test]
fn tsk_10_tsk_15_tsk_18_tsk_20_tsk_21_a_task_of_the_client() {
    let mut client = Client::new("2025-11-25", json!({"elicitation": {}}));
    let created = client.ask("tools/call", json!({"name": "task_that_asks", "arguments": {}, "task": {}}));
    let task = created["result"]["task"]["taskId"].clone();
    let done = client.ask("tasks/result", json!({"taskId": task}));
    assert_eq!(text(&done), ANN);
    let question = client.heard.iter().find(|message| message["method"] == "elicitation/create").expect("it asks");
    for message in [&question["params"], &done["result"]] {
        assert_eq!(message["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task, "{message}");
    }
    reached(&mut client, &task, "completed");
    client.end();
}
