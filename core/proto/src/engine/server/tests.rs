//! Tests the server side of a conversation message by message, without a transport.

use super::*;
use crate::{
    engine::{RequestTimeout, legacy::MAX_KEPT},
    protocol::envelope::{Frame, Message},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

type Conversation = ServerConversation<&'static str, &'static str>;

fn conversation() -> Conversation {
    ServerConversation::new(&Limits::default())
}

fn bounded(max_running: usize, max_waiting: usize) -> Conversation {
    ServerConversation::new(&Limits { max_running, max_waiting, ..Limits::default() })
}

fn message(value: &Value) -> Message {
    match Frame::parse(&value.to_string().into(), Limits::default().frame()) {
        Frame::Single(Ok(message)) => message,
        other => panic!("{value} is not a message: {other:?}"),
    }
}

fn receive(conversation: &mut Conversation, value: Value) -> Received<&'static str, &'static str> {
    take_in(conversation, message(&value), "reply")
}

fn take_in<T, U>(conversation: &mut ServerConversation<T, U>, message: Message, attached: T) -> Received<T, U> {
    match message {
        Message::Request(request) => conversation.request(request, None, None, attached),
        Message::Notification(notification) => conversation.notification(Instant::now(), &notification),
        Message::Response(response) => conversation.response(response),
    }
}

/// Describes briefly what happens to a message.
fn fate(conversation: &mut Conversation, value: Value) -> String {
    match receive(conversation, value) {
        Received::Initialize(_, revision) => format!("initialize {revision}"),
        Received::Pong(_) => "pong".into(),
        Received::Call(call, _) => format!("{} {}", call.method.name, call.info.revision),
        Received::Refuse(refusal) => refusal.error.code.to_string(),
        Received::Cancelled { reason, waiting, .. } => {
            let waited = if waiting.is_some() { " while it waited" } else { "" };
            format!("cancelled{waited}: {}", reason.unwrap_or_default())
        }
        Received::Answered(..) => "answered".into(),
        Received::TaskChanged(id) => format!("changed {id}"),
        Received::Waits(_) | Received::Initialized | Received::Nothing(_) => "nothing".into(),
    }
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn cancel(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({"requestId": id.into(), "reason": "enough"}))
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn modern(id: impl Into<Value>, method: &str) -> Value {
    request(id, method, json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: {}}}))
}

fn initialize(id: impl Into<Value>, version: &str) -> Value {
    let info = json!({"name": "c", "version": "1"});
    request(id, "initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info}))
}

fn initialized(version: &str) -> Conversation {
    let mut conversation = conversation();
    assert_eq!(fate(&mut conversation, initialize(0, version)), format!("initialize {version}"));
    conversation
}

fn key_of(received: Received<&'static str, &'static str>) -> CallKey {
    match received {
        Received::Call(call, _) => call.key,
        other => panic!("{other:?}"),
    }
}

mod era_of_a_message {
    use super::*;

    #[test]
    fn life_08_and_09_a_plain_initialize_opens_a_session_of_a_legacy_revision() {
        for (offered, answered) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1.0", "2025-11-25"),
        ] {
            let mut conversation = conversation();
            assert_eq!(fate(&mut conversation, initialize(1, offered)), format!("initialize {answered}"));
            assert_eq!(conversation.revision().unwrap().as_str(), answered);
        }
    }

    #[test]
    fn disc_27_an_initialize_that_names_a_modern_revision_is_an_unknown_modern_method() {
        let with_meta = |meta: Value| {
            let mut request = initialize(1, "2025-11-25");
            request["params"]["_meta"] = meta;
            request
        };
        for (meta, expected) in [
            (json!({VERSION: "2026-07-28", CAPABILITIES: {}}), "-32601"),
            (json!({VERSION: "2099-01-01", CAPABILITIES: {}}), "-32022"),
            (json!({VERSION: "2026-07-28"}), "-32602"),
            (json!({VERSION: "2025-06-18"}), "initialize 2025-11-25"),
            (json!({VERSION: 5}), "initialize 2025-11-25"),
            (json!({"progressToken": 1}), "initialize 2025-11-25"),
        ] {
            let mut conversation = conversation();
            assert_eq!(fate(&mut conversation, with_meta(meta.clone())), expected, "{meta}");
            assert_eq!(conversation.revision().is_some(), expected.starts_with("initialize"), "{meta}");
        }
    }

    #[test]
    fn a_second_initialize_is_refused_and_changes_nothing() {
        let mut conversation = initialized("2025-03-26");
        assert_eq!(fate(&mut conversation, initialize(2, "2025-11-25")), "-32600");
        assert_eq!(conversation.revision(), Some(Revision::V2025_03_26));
    }

    #[test]
    fn a_second_initialize_of_a_pipe_opens_the_session_of_another_client() {
        let mut conversation: Conversation = ServerConversation::pipe(&Limits::default());
        for version in ["2025-03-26", "2025-11-25"] {
            assert_eq!(fate(&mut conversation, initialize(1, version)), format!("initialize {version}"));
        }
        let lacks_all = request(2, "initialize", json!({}));
        assert_eq!(fate(&mut conversation, lacks_all), "-32602");
        assert_eq!(conversation.revision(), Some(Revision::V2025_11_25));
        conversation.refuse_handshake();
        assert_eq!(conversation.revision(), Some(Revision::V2025_03_26));
    }

    #[test]
    fn an_initialize_that_lacks_something_opens_nothing() {
        let mut conversation = conversation();
        assert_eq!(fate(&mut conversation, request(1, "initialize", json!({}))), "-32602");
        assert_eq!(fate(&mut conversation, json!({"jsonrpc": "2.0", "id": 2, "method": "initialize"})), "-32602");
        assert_eq!(conversation.revision(), None);
        assert_eq!(fate(&mut conversation, initialize(3, "2025-06-18")), "initialize 2025-06-18");
    }

    #[test]
    fn disc_11_and_12_modern_requests_are_checked_in_order_whether_or_not_there_is_a_session() {
        let meta = |meta: Value| request(1, "tools/list", json!({"_meta": meta}));
        for mut conversation in [conversation(), initialized("2025-06-18")] {
            for (value, expected) in [
                (meta(json!({VERSION: 20260728, CAPABILITIES: {}})), "-32602"),
                (meta(json!({VERSION: null, CAPABILITIES: {}})), "-32602"),
                (meta(json!({VERSION: "2099-01-01"})), "-32022"),
                // A handshake revision cannot be used in this form.
                (meta(json!({VERSION: "2025-11-25", CAPABILITIES: {}})), "-32022"),
                (meta(json!({VERSION: "2026-07-28"})), "-32602"),
                (meta(json!({VERSION: "2026-07-28", CAPABILITIES: 1})), "-32602"),
                (modern(1, "tools/nonsense"), "-32601"),
                (modern(1, "ping"), "-32601"),
                (modern(1, "logging/setLevel"), "-32601"),
                (modern(1, "tools/list"), "tools/list 2026-07-28"),
            ] {
                assert_eq!(fate(&mut conversation, value.clone()), expected, "{value}");
            }
        }
    }

    #[test]
    fn disc_12_an_unsupported_version_gets_the_supported_ones() {
        let params = json!({"_meta": {VERSION: "2025-11-25", CAPABILITIES: {}}});
        let Received::Refuse(refusal) = receive(&mut conversation(), request("a", "tools/list", params)) else {
            panic!()
        };
        assert_eq!(refusal.id, Some("a".into()));
        assert_eq!(refusal.error.data, Some(json!({"supported": ["2026-07-28"], "requested": "2025-11-25"})));
    }

    #[test]
    fn discover_without_a_version_is_a_malformed_modern_request() {
        let plain = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
        for mut conversation in [conversation(), initialized("2025-11-25")] {
            assert_eq!(fate(&mut conversation, plain.clone()), "-32602");
            assert_eq!(fate(&mut conversation, request(2, "server/discover", json!({"_meta": {}}))), "-32602");
            assert_eq!(fate(&mut conversation, modern(3, "server/discover")), "server/discover 2026-07-28");
        }
    }

    #[test]
    fn life_04_before_initialize_only_ping_is_served_and_the_refusal_names_all_versions() {
        let mut conversation = conversation();
        assert_eq!(fate(&mut conversation, request(1, "ping", json!({}))), "pong");
        for method in ["tools/list", "tools/call", "resources/list", "nonsense"] {
            let Received::Refuse(refusal) = receive(&mut conversation, request(2, method, json!({}))) else { panic!() };
            assert_eq!(refusal.error.code, -32602, "{method}");
            let supported = refusal.error.data.unwrap()["supported"].clone();
            assert_eq!(supported, json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]));
        }
    }

    #[test]
    fn life_12_a_session_serves_the_methods_of_its_revision() {
        for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let mut conversation = initialized(revision);
            assert_eq!(fate(&mut conversation, request(1, "ping", json!({}))), "pong");
            assert_eq!(fate(&mut conversation, request(2, "tools/list", json!({}))), format!("tools/list {revision}"));
            assert_eq!(fate(&mut conversation, request(3, "subscriptions/listen", json!({}))), "-32601");
            assert_eq!(fate(&mut conversation, request(4, "nonsense", json!({}))), "-32601");
            // A server's methods are not a client's methods.
            assert_eq!(fate(&mut conversation, request(5, "roots/list", json!({}))), "-32601");
        }
    }

    #[test]
    fn disc_28_both_eras_take_turns_on_one_pipe() {
        let mut conversation = conversation();
        assert_eq!(fate(&mut conversation, modern(1, "tools/list")), "tools/list 2026-07-28");
        assert_eq!(fate(&mut conversation, initialize(2, "2024-11-05")), "initialize 2024-11-05");
        assert_eq!(fate(&mut conversation, modern(3, "tools/call")), "tools/call 2026-07-28");
        assert_eq!(fate(&mut conversation, request(4, "tools/call", json!({"name": "x"}))), "tools/call 2024-11-05");
        assert_eq!(fate(&mut conversation, modern(5, "ping")), "-32601");
        assert_eq!(fate(&mut conversation, request(6, "ping", json!({}))), "pong");
    }

    #[test]
    fn disc_14_and_16_a_modern_request_knows_nothing_of_the_session_or_of_earlier_requests() {
        let mut conversation = initialized("2025-11-25");
        let declared = json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: {"sampling": {}}}});
        let _ = receive(&mut conversation, request(1, "tools/list", declared));
        let Received::Call(call, _) = receive(&mut conversation, modern(2, "tools/list")) else { panic!() };
        assert_eq!(call.info.client_capabilities.as_bytes(), b"{}");
        assert_eq!(call.info.client_info, None);
        let Received::Call(call, _) = receive(&mut conversation, request(3, "tools/list", json!({}))) else { panic!() };
        assert_eq!(call.info.client_info.unwrap().as_bytes(), br#"{"name":"c","version":"1"}"#);
    }

    #[test]
    fn a_stateless_exchange_serves_any_request_of_its_revision() {
        let mut conversation: Conversation = ServerConversation::stateless(&Limits::default(), Revision::V2025_03_26);
        assert_eq!(fate(&mut conversation, request(1, "tools/list", json!({}))), "tools/list 2025-03-26");
        assert_eq!(fate(&mut conversation, initialize(2, "2025-06-18")), "initialize 2025-06-18");
    }

    #[test]
    fn notifications_and_answers_that_mean_nothing_have_no_effect() {
        let mut conversation = initialized("2025-06-18");
        for value in [
            notification("notifications/initialized", json!({})),
            notification("notifications/roots/list_changed", json!({})),
            notification("notifications/nonsense", json!({})),
            notification("tools/list", json!({})),
            notification("notifications/progress", json!({"progressToken": 5, "progress": 1})),
            notification("notifications/progress", json!({})),
            json!({"jsonrpc": "2.0", "method": "notifications/progress"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": "1", "error": {"code": 1, "message": ""}}),
            json!({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}),
        ] {
            assert_eq!(fate(&mut conversation, value.clone()), "nothing", "{value}");
        }
    }
}

mod ids {
    use super::*;

    #[test]
    fn rpc_05_an_id_in_use_is_refused_and_free_again_when_answered() {
        let mut conversation = initialized("2025-06-18");
        let key = key_of(receive(&mut conversation, request(1, "tools/call", json!({"name": "x"}))));
        assert_eq!(fate(&mut conversation, request(1, "tools/list", json!({}))), "-32600");
        // Both eras share one table.
        assert_eq!(fate(&mut conversation, modern(1, "tools/list")), "-32600");
        assert!(conversation.incoming.is_open(key), "the first call is not touched");
        assert_eq!(conversation.incoming.finish(key).0, Some(1.into()));
        assert_eq!(fate(&mut conversation, modern(1, "tools/list")), "tools/list 2026-07-28");
    }

    #[test]
    fn rpc_03_ids_that_look_alike_are_different_calls() {
        let mut conversation = initialized("2025-06-18");
        let number = key_of(receive(&mut conversation, request(1, "tools/call", json!({"name": "x"}))));
        let string = key_of(receive(&mut conversation, request("1", "tools/call", json!({"name": "x"}))));
        assert_eq!(fate(&mut conversation, cancel("1")), "cancelled: enough");
        assert!(conversation.incoming.is_open(number) && !conversation.incoming.is_open(string));
        assert_eq!(conversation.incoming.finish(number).0, Some(1.into()));
        assert_eq!(conversation.incoming.finish(string).0, None, "nothing may be sent for a cancelled call (CAN-05)");
    }

    #[test]
    fn requests_to_the_client_are_bounded() {
        let mut conversation = initialized("2025-06-18");
        let timeout = RequestTimeout { timeout: Duration::from_secs(1), max: Duration::from_secs(1) };
        let mut ask = || {
            conversation.ask(
                Instant::now(),
                Revision::V2025_06_18,
                MethodCall { method: "ping", params: None, timeout },
                "asked",
            )
        };
        for _ in 0..MAX_IN_FLIGHT {
            ask().unwrap();
        }
        assert!(ask().unwrap_err().is_busy());
    }

    #[test]
    fn rpc_07_an_answer_of_ours_is_matched_once_and_by_its_exact_id() {
        let mut conversation = initialized("2025-06-18");
        let timeout = RequestTimeout { timeout: Duration::from_secs(1), max: Duration::from_secs(1) };
        let asked = conversation.ask(
            Instant::now(),
            Revision::V2025_06_18,
            MethodCall { method: "ping", params: None, timeout },
            "asked",
        );
        let (id, _) = asked.unwrap();
        let answer = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {}});
        assert_eq!(fate(&mut conversation, answer(json!(id.to_string()))), "nothing");
        assert_eq!(fate(&mut conversation, answer(json!(id))), "answered");
        assert_eq!(fate(&mut conversation, answer(json!(id))), "nothing");
    }
}

mod cancellation {
    use super::*;

    fn call(id: impl Into<Value>) -> Value {
        request(id, "tools/call", json!({"name": "x"}))
    }

    #[test]
    fn can_05_a_running_call_ends_and_the_next_one_starts() {
        let mut conversation = bounded(1, 8);
        let _ = receive(&mut conversation, initialize(0, "2025-11-25"));
        let first = key_of(receive(&mut conversation, call(1)));
        assert_eq!(fate(&mut conversation, call(2)), "nothing");
        let Received::Cancelled { key, reason, waiting, next } = receive(&mut conversation, cancel(1)) else {
            panic!()
        };
        assert_eq!((key, reason.as_deref(), waiting), (first, Some("enough"), None));
        assert_eq!(next.unwrap().0.id, 2.into());
        assert!(!conversation.incoming.is_open(first));
    }

    #[test]
    fn a_cancelled_waiting_call_never_runs() {
        let mut conversation = bounded(1, 8);
        let _ = receive(&mut conversation, initialize(0, "2025-11-25"));
        let first = key_of(receive(&mut conversation, call(1)));
        let (_, _) = (receive(&mut conversation, call(2)), receive(&mut conversation, call(3)));
        assert_eq!(fate(&mut conversation, cancel(2)), "cancelled while it waited: enough");
        let (id, next) = conversation.incoming.finish(first);
        assert_eq!((id, next.unwrap().0.id), (Some(1.into()), 3.into()));
    }

    #[test]
    fn can_06_and_10_cancellations_without_an_effect_are_ignored() {
        let mut conversation = initialized("2025-11-25");
        let key = key_of(receive(&mut conversation, call(1)));
        for value in [
            cancel(99),
            cancel("1"),
            cancel(Value::Null),
            cancel(json!({})),
            cancel(1.5),
            notification("notifications/cancelled", json!({})),
            notification("notifications/cancelled", json!({"requestId": 1, "reason": 5})),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
        ] {
            assert_eq!(fate(&mut conversation, value.clone()), "nothing", "{value}");
        }
        assert!(conversation.incoming.is_open(key));
        assert_eq!(fate(&mut conversation, cancel(1)), "cancelled: enough");
        assert_eq!(fate(&mut conversation, cancel(1)), "nothing");
    }

    #[test]
    fn a_cancellation_with_a_long_reason_is_one_without() {
        let mut conversation = initialized("2025-11-25");
        for (length, kept) in [(4 << 10, 4 << 10), ((4 << 10) + 1, 0)] {
            let _ = receive(&mut conversation, call(length));
            let reason = "r".repeat(length);
            let cancel = notification("notifications/cancelled", json!({"requestId": length, "reason": reason}));
            assert_eq!(fate(&mut conversation, cancel), format!("cancelled: {}", &reason[..kept]));
        }
    }

    #[test]
    fn sub_08_a_stream_ends_by_cancellation_too() {
        let mut conversation = conversation();
        let key = key_of(receive(&mut conversation, modern("s", "subscriptions/listen")));
        assert!(conversation.incoming.is_empty(), "a stream keeps nobody waiting");
        assert_eq!(fate(&mut conversation, cancel("s")), "cancelled: enough");
        assert!(!conversation.incoming.is_open(key));
    }
}

mod progress {
    use super::*;

    fn started(revision: &str, token: Value) -> (Conversation, IncomingCall) {
        let mut conversation = initialized(revision);
        let params = json!({"name": "x", "_meta": {"progressToken": token}});
        match receive(&mut conversation, request(1, "tools/call", params)) {
            Received::Call(call, _) => (conversation, call),
            other => panic!("{other:?}"),
        }
    }

    fn sent(conversation: &mut Conversation, call: &IncomingCall, progress: CallProgress<'_>) -> Option<Value> {
        let text = conversation.progress(call.key, &call.info, &progress)?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    const HALF: CallProgress<'_> = CallProgress { progress: 0.5, total: Some(1.0), message: Some("half") };

    #[test]
    fn prg_01_the_token_is_returned_exactly_and_the_message_if_the_revision_has_it() {
        for token in [json!("1"), json!(1), json!(""), json!(-7)] {
            for revision in ["2024-11-05", "2025-03-26"] {
                let (mut conversation, call) = started(revision, token.clone());
                let notification = sent(&mut conversation, &call, HALF).unwrap();
                assert_eq!(notification["method"], "notifications/progress");
                let mut expected = json!({"progressToken": token, "progress": 0.5, "total": 1});
                if revision > "2024-11-05" {
                    expected["message"] = "half".into();
                }
                assert_eq!(notification["params"], expected, "{revision}");
            }
        }
    }

    #[test]
    fn prg_02_to_05_only_rising_values_of_an_open_call_that_asked_are_sent() {
        let (mut conversation, call) = started("2025-11-25", json!("t"));
        let mut at =
            |progress| sent(&mut conversation, &call, CallProgress { progress, total: None, message: None }).is_some();
        assert!(at(1.0) && !at(1.0) && !at(0.5) && at(1.5) && !at(f64::INFINITY) && !at(f64::NAN));
        let (mut conversation, call) = started("2025-11-25", json!("t"));
        let _ = conversation.incoming.finish(call.key);
        assert_eq!(sent(&mut conversation, &call, HALF), None);
        for no_token in [Value::Null, json!(1.5), json!({})] {
            let (mut conversation, call) = started("2025-11-25", no_token);
            assert_eq!(sent(&mut conversation, &call, HALF), None);
        }
    }

    #[test]
    fn a_total_that_json_cannot_hold_is_left_out() {
        let (mut conversation, call) = started("2025-11-25", json!("t"));
        let endless = CallProgress { progress: 1.0, total: Some(f64::INFINITY), message: None };
        let notification = sent(&mut conversation, &call, endless).unwrap();
        assert_eq!(notification["params"], json!({"progressToken": "t", "progress": 1}));
    }

    /// A peer may read the number into an integer.
    #[test]
    fn whole_numbers_have_no_fraction() {
        let (mut conversation, call) = started("2025-11-25", json!("t"));
        for (progress, total, written) in [
            (-0.0, Some(3.0), r#""progress":0,"total":3"#),
            (1.0, Some(1e300), r#""progress":1,"total":1e+300"#),
            (1.25, Some(-2.0), r#""progress":1.25,"total":-2"#),
            (9_007_199_254_740_991.0, None, r#""progress":9007199254740991"#),
            (9_007_199_254_740_992.0, None, r#""progress":9007199254740992.0"#),
        ] {
            let progress = CallProgress { progress, total, message: None };
            let text = conversation.progress(call.key, &call.info, &progress).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(text.contains(&format!("{written}}}")), "{text}");
        }
    }
}

mod limits {
    use super::*;

    #[test]
    fn calls_over_the_limit_are_refused_as_busy_and_pings_pass() {
        let mut conversation = bounded(2, 3);
        let _ = receive(&mut conversation, initialize(0, "2025-11-25"));
        let fates: Vec<_> = (1..=8).map(|id| fate(&mut conversation, request(id, "tools/list", json!({})))).collect();
        assert_eq!(fates[..2], ["tools/list 2025-11-25", "tools/list 2025-11-25"]);
        assert_eq!(fates[2..5], ["nothing", "nothing", "nothing"]);
        assert_eq!(fates[5..], ["-32603", "-32603", "-32603"]);
        let Received::Refuse(refusal) = receive(&mut conversation, modern(9, "tools/list")) else { panic!() };
        assert_eq!(refusal.error.data, Some(json!({"reason": "busy"})));
        assert_eq!(fate(&mut conversation, request(1, "ping", json!({}))), "pong");
        conversation.incoming.drain();
        assert!(conversation.incoming.is_empty());
        assert_eq!(fate(&mut conversation, request(9, "tools/list", json!({}))), "tools/list 2025-11-25");
    }

    #[test]
    fn streams_are_bounded_and_leave_calls_their_room() {
        let mut conversation = bounded(2, 3);
        for id in 1..=5 {
            assert_eq!(fate(&mut conversation, modern(id, "subscriptions/listen")), "subscriptions/listen 2026-07-28");
        }
        assert_eq!(fate(&mut conversation, modern(6, "subscriptions/listen")), "-32603");
        assert_eq!(fate(&mut conversation, modern(7, "tools/list")), "tools/list 2026-07-28");
    }
}

/// The events of a conversation, in any order.
#[derive(Debug, Clone)]
enum Happening {
    Arrives(Value),
    /// Answers the call that was started this long ago.
    IsAnswered(prop::sample::Index),
}

fn ids() -> impl Strategy<Value = Value> {
    prop_oneof![(0_i64..4).prop_map(Value::from), (0_i64..4).prop_map(|id| id.to_string().into())]
}

fn messages() -> impl Strategy<Value = Value> {
    let methods = prop::sample::select(vec![
        "tools/list",
        "tools/call",
        "ping",
        "server/discover",
        "subscriptions/listen",
        "initialize",
        "resources/list",
        "roots/list",
        "nonsense",
        "",
    ]);
    let metas = prop::sample::select(vec![
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: {}}}),
        json!({"_meta": {VERSION: "2026-07-28"}}),
        json!({"_meta": {VERSION: "2025-06-18", CAPABILITIES: {}}}),
        json!({"_meta": {VERSION: 7, "progressToken": {}}}),
        json!({"_meta": [[]]}),
    ]);
    let versions = prop::sample::select(vec!["2024-11-05", "2025-03-26", "2025-11-25", "2026-07-28"]);
    prop_oneof![
        6 => (ids(), methods.clone(), metas.clone()).prop_map(|(id, method, params)| request(id, method, params)),
        1 => (ids(), versions).prop_map(|(id, version)| initialize(id, version)),
        3 => ids().prop_map(cancel),
        1 => (methods, metas).prop_map(|(method, params)| notification(method, params)),
        1 => ids().prop_map(|id| json!({"jsonrpc": "2.0", "id": id, "result": {}})),
    ]
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        3 => messages().prop_map(Happening::Arrives),
        1 => any::<prop::sample::Index>().prop_map(Happening::IsAnswered),
    ];
    prop::collection::vec(one, 0..80)
}

proptest! {
    /// RPC-07, CAN-05, CAN-08: whatever the order of messages, each request is either answered once
    /// under its own id, or cancelled and not answered at all; and nothing is left at the end.
    #[test]
    fn every_request_gets_at_most_one_answer(happenings in happenings()) {
        let mut conversation = ServerConversation::<RequestId, ()>::new(&Limits { max_running: 2, max_waiting: 2, ..Limits::default() });
        let mut open: BTreeMap<CallKey, RequestId> = BTreeMap::new();
        let mut waiting: Vec<RequestId> = Vec::new();
        let start = |open: &mut BTreeMap<CallKey, RequestId>, call: IncomingCall, attached: RequestId| {
            assert_eq!(call.id, attached, "what travels with a call stays with it");
            assert!(open.insert(call.key, call.id).is_none(), "a key is used once");
        };
        for happening in happenings {
            match happening {
                Happening::Arrives(value) => {
                    let message = message(&value);
                    let id = match &message {
                        Message::Request(request) => Some(request.id.clone()),
                        _ => None,
                    };
                    let attached = id.clone().unwrap_or(RequestId::Integer(-1));
                    match take_in(&mut conversation, message, attached) {
                        Received::Initialize(answered, _) | Received::Pong(answered) => prop_assert_eq!(Some(answered), id),
                        Received::Refuse(refusal) => {
                            prop_assert!(refusal.id.is_some());
                            prop_assert_eq!(refusal.id, id);
                        }
                        Received::Call(call, attached) => {
                            prop_assert_eq!(Some(&call.id), id.as_ref());
                            start(&mut open, call, attached);
                        }
                        Received::Cancelled { key, waiting: withdrawn, next, .. } => {
                            match withdrawn {
                                Some(attached) => {
                                    let position = waiting.iter().position(|id| *id == attached);
                                    prop_assert!(position.is_some());
                                    waiting.remove(position.unwrap());
                                }
                                None => prop_assert!(open.remove(&key).is_some()),
                            }
                            prop_assert_eq!(conversation.incoming.finish(key).0, None);
                            if let Some((call, attached)) = next {
                                prop_assert_eq!(waiting.remove(0), attached.clone());
                                start(&mut open, call, attached);
                            }
                        }
                        Received::Answered((), _) => prop_assert!(false, "nothing was asked"),
                        Received::Waits(waits) => waiting.push(waits),
                        Received::Initialized | Received::Nothing(_) | Received::TaskChanged(_) => {
                            prop_assert_eq!(id, None);
                        }
                    }
                }
                Happening::IsAnswered(index) => {
                    let keys: Vec<_> = open.keys().copied().collect();
                    if keys.is_empty() {
                        continue;
                    }
                    let key = *index.get(&keys);
                    let (answered, next) = conversation.incoming.finish(key);
                    prop_assert_eq!(answered, open.remove(&key));
                    if let Some((call, attached)) = next {
                        prop_assert_eq!(waiting.remove(0), attached.clone());
                        start(&mut open, call, attached);
                    }
                }
            }
            prop_assert!(waiting.len() <= 2);
        }
        // All remaining calls are answered at the end.
        while let Some((&key, _)) = open.iter().next() {
            let (answered, next) = conversation.incoming.finish(key);
            prop_assert_eq!(answered, open.remove(&key));
            if let Some((call, attached)) = next {
                prop_assert_eq!(waiting.remove(0), attached.clone());
                start(&mut open, call, attached);
            }
        }
        prop_assert!(waiting.is_empty());
        prop_assert!(conversation.incoming.is_empty());
    }
}

#[test]
fn what_a_client_says_of_itself_is_bounded_for_it_stays() {
    let mut conversation = conversation();
    let mut message = |title: usize, icon: usize| {
        let icons = json!([{"src": format!("data:image/png;base64,{}", "A".repeat(icon))}]);
        let info = json!({"name": "c", "version": "1", "title": "x".repeat(title), "icons": icons});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        fate(&mut conversation, request(1, "initialize", params))
    };
    assert!(message(MAX_KEPT, 0).contains("-32602"), "it was taken");
    assert!(message(MAX_KEPT, MAX_KEPT).contains("-32602"), "it was taken");
    assert_eq!(message(1000, 1000), "initialize 2025-11-25");
}

#[test]
fn large_icons_of_a_client_are_not_kept() {
    for (icon, kept) in [(1000, true), (MAX_KEPT, false)] {
        let mut conversation = conversation();
        let info = json!({"name": "c", "icons": [{"src": "A".repeat(icon)}], "x": 1.50, "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        assert_eq!(fate(&mut conversation, request(1, "initialize", params)), "initialize 2025-11-25");
        let terms = conversation.terms().unwrap();
        let info: Value = terms.client_info.as_ref().unwrap().parse().unwrap();
        assert_eq!((info["name"].as_str(), info["x"].as_f64()), (Some("c"), Some(1.5)));
        assert_eq!(info.get("icons").is_some(), kept);
    }
}

#[test]
fn waiting_calls_are_bounded_in_bytes() {
    let limits = Limits { max_running: 1, max_waiting_bytes: 1000, ..Limits::default() };
    let mut conversation = ServerConversation::new(&limits);
    assert_eq!(fate(&mut conversation, initialize(0, "2025-11-25")), "initialize 2025-11-25");
    let mut call = |id: i64, padding: usize| {
        let params = json!({"name": "t", "arguments": {"padding": "x".repeat(padding)}});
        fate(&mut conversation, request(id, "tools/call", params))
    };
    let first = call(1, 5000);
    assert!(!first.contains("-32603"), "what runs does not wait: {first}");
    let (waits, refused) = (call(2, 500), call(3, 500));
    assert!(!waits.contains("-32603") && refused.contains("-32603"), "{waits}, {refused}");
    assert_eq!(call(4, 10), waits);
}
