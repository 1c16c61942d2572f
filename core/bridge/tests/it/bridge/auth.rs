//! Access tokens through the waist: options of an endpoint, and tokens that the host judges.

use super::{
    mounted::{Response, head, modern},
    *,
};
use trunkline_bridge::ErrorKind;

const RESOURCE: &str = "https://mcp.example/mcp";

impl Host {
    /// A hook that judges tokens by a function.
    fn verifier(&self, server: u64, function: impl Fn(&Port, &Event) + Send + Sync + 'static) -> u64 {
        let handle = self.register("verifier", json!({"server": server})).unwrap();
        self.functions.lock().unwrap().insert(handle, Arc::new(function));
        handle
    }

    /// Calls `who` with this header `Authorization`.
    fn call_as(&self, listener: u64, tool: &str, authorization: &str) -> u64 {
        let (message, headers) = modern("tools/call", json!({"name": tool, "arguments": {}}));
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("authorization", authorization));
        self.post(listener, &headers, &message)
    }

    fn answer_as(&self, listener: u64, tool: &str, authorization: &str) -> Response {
        self.response(self.call_as(listener, tool, authorization))
    }

    /// A tool that returns the caller from `describe`.
    fn who(&self, server: u64) {
        self.tool_with(server, json!({"name": "who"}), |port, event| {
            let facts: Value = serde_json::from_str(&port.describe(event.ticket).unwrap()).unwrap();
            port.complete(event.ticket, Shape::Text, facts["auth"].to_string().into()).unwrap();
        });
    }
}

/// Judges tokens by their names.
fn judge(port: &Port, event: &Event) {
    assert_eq!(event.name, "");
    let asked = body(event);
    assert_eq!((&asked["scheme"], &asked["method"]), (&json!("Bearer"), &json!("POST")));
    assert_eq!((&asked["url"], &asked["resource"]), (&json!("https://mcp.example/"), &json!(RESOURCE)));
    assert!(!port.cancelled(event.ticket).unwrap());
    let complete = |value: Value| port.complete(event.ticket, Shape::Value, value.to_string().into());
    let fail = |value: Value| port.fail(event.ticket, value.to_string().as_bytes());
    let done = match asked["token"].as_str().unwrap() {
        "alice" => complete(json!({"subject": "alice", "scopes": ["mcp"], "claims": {"team": "blue"}})),
        "old" => complete(json!({"subject": "alice", "scopes": ["mcp"], "expiresAt": 1})),
        "little" => complete(json!({"subject": "alice"})),
        "unknown" => complete(Value::Null),
        "revoked" => fail(json!({"kind": "invalid", "message": "The token was revoked"})),
        "scope" => {
            let data = json!({"error": "insufficient_scope", "scopes": ["mcp", "more"]});
            fail(json!({"kind": "protocol", "message": "Needs more", "data": data}))
        }
        "broken" => fail(json!({"kind": "internal", "message": "the database is gone"})),
        "wrong" => {
            // An invalid answer does not answer.
            assert_eq!(complete(json!({"name": "alice"})).unwrap_err().kind, ErrorKind::InvalidArgument);
            assert!(complete(json!({"scopes": ["mcp"]})).unwrap_err().message.contains("needs a subject"));
            let late = complete(json!({"subject": "alice", "expiresAt": -1})).unwrap_err();
            assert!(late.message.contains("-1 is not a time"), "{late:?}");
            assert_eq!(complete(json!([])).unwrap_err().kind, ErrorKind::InvalidArgument);
            assert_eq!(fail(json!({"kind": "tool", "message": "x"})).unwrap_err().kind, ErrorKind::InvalidArgument);
            let text = port.complete(event.ticket, Shape::Text, "alice".into());
            assert_eq!(text.unwrap_err().kind, ErrorKind::InvalidArgument);
            fail(json!({"kind": "invalid", "message": "x"}))
        }
        other => panic!("{other}"),
    };
    assert!(done.unwrap());
    assert!(port.cancelled(event.ticket).unwrap());
    assert!(!complete(Value::Null).unwrap());
}

#[test]
fn aus_07_the_host_judges_tokens() {
    let host = Host::new();
    let server = host.server();
    host.who(server);
    let verifier = host.verifier(server, judge);
    let auth = json!({"resource": RESOURCE, "authorizationServers": ["https://auth.example"],
        "requiredScopes": ["mcp"], "verifier": verifier});
    let listener = host.mount(server, json!({"auth": auth}));

    let answer = host.answer_as(listener, "who", "Bearer alice");
    assert_eq!(answer.status, 200);
    let known: Value = serde_json::from_str(text(&answer.json()["result"])).unwrap();
    let expected =
        json!({"principal": "#sub:alice", "subject": "alice", "scopes": ["mcp"], "claims": {"team": "blue"}});
    assert_eq!(known, expected);
    for (token, status, part) in [
        ("old", 401, r#"error="invalid_token""#),
        ("unknown", 401, r#"error="invalid_token""#),
        ("revoked", 401, r#"error_description="The token was revoked""#),
        ("wrong", 401, r#"error="invalid_token""#),
        ("little", 403, r#"scope="mcp""#),
        ("scope", 403, r#"scope="mcp more""#),
    ] {
        let answer = host.answer_as(listener, "who", &format!("Bearer {token}"));
        assert_eq!(answer.status, status, "{token}");
        let challenge = &answer.headers["www-authenticate"];
        assert!(challenge.contains(part) && challenge.contains("resource_metadata="), "{token} {challenge}");
    }
    let answer = host.answer_as(listener, "who", "Bearer broken");
    assert_eq!(answer.status, 503);
    assert!(!String::from_utf8_lossy(&answer.json().to_string().into_bytes()).contains("database"));
}

#[test]
fn aus_10_tools_name_their_scopes() {
    let host = Host::new();
    let server = host.server();
    let tool = json!({"server": server, "tool": {"name": "write"}, "scopes": ["files:write"]});
    let handle = host.register("tool", tool).unwrap();
    let answer = |port: &Port, event: &Event| {
        port.complete(event.ticket, Shape::Text, "written".into()).unwrap();
    };
    host.functions.lock().unwrap().insert(handle, Arc::new(answer));
    let verifier = host.verifier(server, |port, event| {
        let asked = body(event);
        let identity = json!({"subject": "alice", "scopes": [asked["token"]]});
        port.complete(event.ticket, Shape::Object, identity.to_string().into()).unwrap();
    });
    let auth = json!({"resource": RESOURCE, "authorizationServers": ["https://auth.example"],
        "implies": {"admin": ["files:write"]}, "verifier": verifier});
    let listener = host.mount(server, json!({"auth": auth}));
    let answer = host.answer_as(listener, "write", "Bearer files-read");
    assert_eq!(answer.status, 403);
    assert!(answer.headers["www-authenticate"].contains(r#"scope="files:write""#));
    assert_eq!(host.answer_as(listener, "write", "Bearer admin").status, 200);
    let wrong = json!({"server": server, "tool": {"name": "x"}, "scopes": ["a b"]});
    assert!(host.register("tool", wrong).unwrap_err().message.contains("scopes"));
}

#[test]
fn requests_that_are_gone_cancel_their_tokens_call_and_lost_verifiers_let_nobody_in() {
    let host = Host::new();
    let server = host.server();
    host.who(server);
    let verifier = host.register("verifier", json!({"server": server})).unwrap();
    let auth = json!({"resource": RESOURCE, "authorizationServers": ["https://auth.example"], "verifier": verifier});
    let listener = host.mount(server, json!({"auth": auth}));
    let exchange = host.call_as(listener, "who", "Bearer alice");
    let call = host.event("the token", |event| event.kind == EventKind::Call && event.handle == verifier);
    host.port.cancel(exchange, "").unwrap();
    let cancel = host.event("the cancellation", |event| event.kind == EventKind::Cancel);
    assert_eq!((cancel.ticket, cancel.handle), (call.ticket, verifier));
    assert!(!host.port.complete(call.ticket, Shape::Object, r#"{"subject":"alice"}"#.into()).unwrap_or(false));
    host.port.unregister(verifier).unwrap();
    assert_eq!(host.answer_as(listener, "who", "Bearer alice").status, 503);
}

#[test]
fn bodies_of_unauthenticated_senders_share_one_budget() {
    const LARGE: usize = 200 << 10;
    let host = Host::new();
    let server = host.server_with(json!({"maxMessageBytes": LARGE + 1}));
    let verifier = host.register("verifier", json!({"server": server})).unwrap();
    let auth = json!({"resource": RESOURCE, "authorizationServers": ["https://auth.example"], "verifier": verifier});
    let listener = host.mount(server, json!({"auth": auth, "maxBodyBytes": 16 * LARGE}));
    let headers = [("authorization", "Bearer invented"), ("content-type", "application/json")];
    let head = head("POST", "/", &headers).to_string();
    let begin = || host.port.http_request(listener, head.as_bytes(), false).unwrap();
    let feed = |exchange, bytes: usize, end| host.port.http_body(exchange, vec![b' '; bytes].into(), end).unwrap();
    let large: Vec<_> = (0..4).map(|_| begin()).collect();
    // A quarter of the bytes of all bodies, and a quarter of that for small ones.
    assert_eq!(large.iter().filter(|exchange| feed(**exchange, LARGE, true)).count(), 3);
    let small = begin();
    assert!(feed(small, 1000, true));
    for asked in host.events("tokens", 5, |event| event.kind == EventKind::Call && event.handle == verifier) {
        host.port.complete(asked.ticket, Shape::Object, r#"{"subject":"alice"}"#.into()).unwrap();
    }
    let statuses = large.iter().map(|exchange| host.response(*exchange).status);
    assert_eq!(statuses.collect::<Vec<_>>(), [400, 400, 400, 503], "none of them is a message");
    assert_eq!(host.response(small).status, 400);
    let next = begin();
    assert!(feed(next, LARGE, false), "what was read leaves its room");
    host.port.cancel(next, "").unwrap();
}

#[test]
fn options_are_read_strictly_and_metadata_is_served() {
    let host = Host::new();
    let server = host.server();
    let verifier = host.register("verifier", json!({"server": server})).unwrap();
    let key = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let good = json!({"resource": RESOURCE, "issuer": "https://auth.example", "audience": ["my-api"],
        "scopes": ["read"], "requiredScopes": ["read"], "implies": {"all": ["read"]}, "jwks": {"keys": [key]},
        "algorithms": ["EdDSA"], "dpop": "optional", "dpopAlgorithms": ["ES256"], "dpopNonce": true, "dpopProofs": 1000, "strictType": true,
        "publicUrl": "https://mcp.example/public", "metadata": {"resource_name": "Weather"}});
    let listener = host.mount(server, json!({"auth": good, "path": "/mcp"}));
    let path = "/.well-known/oauth-protected-resource";
    let answer = host.response(host.http(listener, head("GET", path, &[]), b""));
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({"resource": RESOURCE, "authorization_servers": ["https://auth.example"], "scopes_supported": ["read"],
            "bearer_methods_supported": ["header"], "resource_name": "Weather",
            "dpop_signing_alg_values_supported": ["ES256"], "dpop_bound_access_tokens_required": false})
    );
    let answer = host.response(host.http(listener, head("POST", "/mcp", &[]), b"{}"));
    assert_eq!(answer.status, 401);
    assert!(answer.headers.contains_key("dpop-nonce"));
    for (member, value, part) in [
        ("resource", json!("mcp"), "auth.resource"),
        ("resource", json!(null), "resource"),
        ("issuer", json!("http://auth.example"), "auth.authorizationServers"),
        ("issuer", json!([]), "auth.issuer"),
        ("jwks", json!({}), "auth.jwks"),
        ("jwksUri", json!("https://auth.example/keys"), "jwksUri"),
        ("algorithms", json!(["HS256"]), "HS256"),
        ("algorithms", json!(["none"]), "none"),
        ("dpop", json!("maybe"), "dpop"),
        ("dpopNonce", json!("short"), "dpopNonce"),
        ("dpopProofs", json!(0), "dpopProofs"),
        ("strictType", json!("yes"), "strictType"),
        ("publicUrl", json!("http://mcp.example/public"), "auth.publicUrl"),
        ("requiredScopes", json!(["offline_access"]), "offline_access"),
        ("verifier", json!(verifier), "verifier"),
        ("jwks_uri", json!("x"), "jwks_uri"),
    ] {
        let mut auth = good.clone();
        auth[member] = value;
        let open = json!({"server": server, "transport": {"type": "http", "mounted": true, "auth": auth}});
        let error = host.port.open(open.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument, "{member}");
        assert!(error.message.contains(part), "{member}: {error}");
    }
    let stale = json!({"resource": RESOURCE, "authorizationServers": ["https://auth.example"], "verifier": server});
    let open = json!({"server": server, "transport": {"type": "http", "mounted": true, "auth": stale}});
    assert!(host.port.open(open.to_string().as_bytes()).unwrap_err().message.contains("verifier"));
    let strict = host.register("verifier", json!({"server": server, "methods": []}));
    assert!(strict.unwrap_err().message.contains("methods"));
}
