//! Servers of 2024-11-05, which have HTTP+SSE: ours, and scripted ones.

use super::*;
use tokio::sync::broadcast;
use trunkline::{
    client::{ClientHandlers, ElicitRequest, HandlerError},
    transport::HttpEndpoint,
};

/// The part of a scripted server that follows the handshake.
struct Reaction {
    /// Before the POST is answered.
    delay: u64,
    status: u16,
    /// Sent on the stream; an empty text ends it.
    event: Option<String>,
}

fn accepted(event: Option<&Value>) -> Reaction {
    Reaction { delay: 0, status: 202, event: event.map(|message| format!("data: {message}\n\n")) }
}

/// A scripted server with one stream, whose first event has the data `endpoint`.
struct Old {
    url: String,
    /// `GET /sse`, or the JSON-RPC method of a message and then `done` when it was accepted.
    diary: Arc<Mutex<Vec<String>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Its stream is refused like every POST to the same URL.
    has_moved: Arc<AtomicBool>,
}

impl Old {
    /// `refuse` answers a POST to the URL of the stream, and `react` a message at the endpoint.
    async fn new(
        endpoint: &str,
        refuse: impl Fn(&Seen) -> String + Send + Sync + 'static,
        react: impl Fn(&Seen) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (diary, seen, events) = (Arc::default(), Arc::default(), broadcast::Sender::<String>::new(100));
        let has_moved: Arc<AtomicBool> = Arc::default();
        let old = Self {
            url: format!("http://{address}/sse"),
            diary: Arc::clone(&diary),
            seen: Arc::clone(&seen),
            has_moved: Arc::clone(&has_moved),
        };
        let endpoint = endpoint.replace("HERE", &format!("http://{address}"));
        let (refuse, react) = (Arc::new(refuse), Arc::new(react));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (diary, seen, events) = (Arc::clone(&diary), Arc::clone(&seen), events.clone());
                let (refuse, react, endpoint) = (Arc::clone(&refuse), Arc::clone(&react), endpoint.clone());
                let has_moved = has_moved.load(Ordering::SeqCst);
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut socket).await else { return };
                    seen.lock().unwrap().push(request.clone());
                    let note = |what: String| Mutex::lock(&diary).unwrap().push(what);
                    if request.path == "/sse" {
                        note(format!("{} /sse", request.method));
                        if request.method != "GET" || has_moved {
                            let _ = socket.write_all(refuse(&request).as_bytes()).await;
                            return;
                        }
                        let mut events = events.subscribe();
                        let first = super::events(&format!("event: endpoint\ndata: {endpoint}\n\n"));
                        let first = first.replacen("\r\n", "\r\nSet-Cookie: node=7; Path=/\r\n", 1);
                        let _ = socket.write_all(first.as_bytes()).await;
                        while let Ok(event) = events.recv().await {
                            if event.is_empty() || socket.write_all(event.as_bytes()).await.is_err() {
                                return;
                            }
                        }
                        return;
                    }
                    note(request.rpc().to_owned());
                    let reaction = match request.rpc() {
                        "initialize" => accepted(Some(&initialized(&request, "2024-11-05"))),
                        "notifications/initialized" => accepted(None),
                        _ => react(&request),
                    };
                    sleep(Duration::from_millis(reaction.delay)).await;
                    note(format!("done {}", request.rpc()));
                    let _ = socket.write_all(http(reaction.status, "", "Accepted").as_bytes()).await;
                    if let Some(event) = reaction.event {
                        let _ = events.send(event);
                    }
                });
            }
        });
        old
    }

    fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }

    async fn connect(&self, revision: RevisionChoice) -> Result<Client, ClientError> {
        timeout(TEST_TIMEOUT, Client::connect_with(self.url.as_str(), choose(revision), ())).await.expect("no end")
    }
}

/// The URL of the stream of a listener of ours.
fn stream_of(listener: &trunkline::Listener) -> String {
    listener.url().unwrap().replace("/mcp", "/sse")
}

fn legacy_choices() -> Vec<(RevisionChoice, Revision)> {
    let choices = every_choice().into_iter().filter(|(choice, _)| *choice != RevisionChoice::Modern);
    let choices = choices.map(|(choice, revision)| match choice {
        RevisionChoice::Auto => (choice, Revision::LATEST_LEGACY),
        _ => (choice, revision),
    });
    choices.filter(|(_, revision)| *revision != Revision::LATEST).collect()
}

#[tokio::test]
async fn sse_03_and_sse_06_a_server_that_has_http_sse_only_is_found() {
    let (server, mut drops) = server();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let url = stream_of(&listener);
    let entry = json!({"type": "sse", "url": url});
    let targets: [trunkline::transport::Target; 3] =
        [url.as_str().into(), entry.into(), HttpEndpoint::new(url.as_str()).with_http_sse(true).into()];
    for target in targets {
        for (choice, revision) in legacy_choices() {
            let client = Client::connect_with(target.clone(), choose(choice), ()).await.unwrap();
            assert_eq!((client.revision(), client.server_info().unwrap().name.as_str()), (revision, "ours"));
            assert_eq!(client.list_tools().await.unwrap().len(), 3);
            let steps = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&steps);
            let on_progress = Some(Arc::new(move |_: &RawJson| *counted.lock().unwrap() += 1) as _);
            let options = RequestOptions::default().with_on_progress(on_progress);
            assert_eq!(text(&call(&client, "count", json!({}), &options).await.unwrap()), "counted");
            assert_eq!(*steps.lock().unwrap(), 3, "{revision}");
            let patient = RequestOptions::default();
            tokio::select! {
                ended = call(&client, "wait", json!({}), &patient) => panic!("not cancelled: {ended:?}"),
                begun = drops.recv() => begun.unwrap(),
            }
            timeout(TEST_TIMEOUT, drops.recv()).await.expect("the call continues");
            client.close().await;
        }
        for choice in [RevisionChoice::Modern, RevisionChoice::Pinned(Revision::LATEST)] {
            let connected = Client::connect_with(target.clone(), choose(choice), ()).await;
            // A pinned revision is spoken without asking; then the first request finds out.
            let error = match connected {
                Err(error) => error,
                Ok(client) => client.list_tools().await.unwrap_err(),
            };
            assert!(matches!(error.kind(), ErrorKind::Version | ErrorKind::Protocol), "{error}");
        }
    }
    listener.close(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn cookies_of_the_stream_come_back_with_its_messages() {
    let server =
        Old::new("/messages", |_| http(405, "", ""), |request| accepted(Some(&result(request, json!({}))))).await;
    let client = server.connect(RevisionChoice::Auto).await.unwrap();
    request(&client, "ping").await.unwrap();
    client.close().await;
    let seen = server.seen.lock().unwrap();
    let posted: Vec<_> = seen.iter().filter(|request| request.path == "/messages").collect();
    assert!(posted.len() >= 3, "{seen:?}");
    assert!(posted.iter().all(|request| request.header("cookie") == Some("node=7")), "{seen:?}");
}

#[tokio::test]
async fn server_requests_and_changes_arrive_on_the_stream() {
    let server = Server::builder("asking", "1")
        .tool("ask", "Asks its user.", |ctx: Context| async move {
            let form = trunkline::protocol::model::FormSchema::new();
            let params = trunkline::protocol::model::ElicitParams::form("Really?", form);
            trunkline::Ok(match ctx.elicit(params).await {
                Ok(answer) => format!("{:?}", answer.action),
                Err(error) => error.to_string(),
            })
        })
        .build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let handlers = ClientHandlers::default()
        .on_elicit(async |_: ElicitRequest| Ok::<_, HandlerError>(trunkline::protocol::model::ElicitResult::decline()));
    let (heard, mut news) = mpsc::unbounded_channel();
    let options = choose(RevisionChoice::Auto).with_handlers(handlers);
    let client = Client::connect_with(stream_of(&listener), options, Heard(heard)).await.unwrap();
    let answer = call(&client, "ask", json!({}), &RequestOptions::default()).await.unwrap();
    assert_eq!(text(&answer), "Decline");
    server.add_tool(Tool::new("later", "Comes later.", || async { "x".to_owned() })).unwrap();
    let method = timeout(TEST_TIMEOUT, news.recv()).await.expect("nothing was heard").unwrap();
    assert_eq!(method, "notifications/tools/list_changed");
    client.close().await;
    listener.close(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn sse_03_messages_go_to_the_endpoint_with_the_callers_headers() {
    for endpoint in ["/messages?sessionId=1", "messages?sessionId=1", "HERE/messages?sessionId=1"] {
        let server =
            Old::new(endpoint, |_| http(404, "", ""), |request| accepted(Some(&result(request, json!({}))))).await;
        let place = HttpEndpoint::new(server.url.as_str()).with_header("X-Team", "a");
        let options = choose(RevisionChoice::Auto);
        let client = timeout(TEST_TIMEOUT, Client::connect_with(place, options, ())).await.unwrap().unwrap();
        assert_eq!(client.revision(), Revision::V2024_11_05);
        request(&client, "ping").await.unwrap();
        client.close().await;
        let seen = server.seen.lock().unwrap().clone();
        assert!(seen.iter().all(|seen| seen.header("x-team") == Some("a")));
        let stream = seen.iter().find(|seen| seen.method == "GET").unwrap();
        assert_eq!(stream.header("accept"), Some("text/event-stream"));
        let ping = seen.iter().find(|seen| seen.rpc() == "ping").unwrap();
        assert_eq!((&*ping.path, ping.header("content-type")), ("/messages?sessionId=1", Some("application/json")));
        assert_eq!(ping.header("mcp-protocol-version"), None, "not in that revision");
    }
}

#[tokio::test]
async fn sse_11_an_endpoint_on_another_origin_gets_nothing() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stranger = format!("http://{}/messages", other.local_addr().unwrap());
    for (endpoint, why) in
        [(stranger.as_str(), "another origin"), ("//[::1]:1/messages", "another origin"), ("http://[", "not a URL")]
    {
        let server = Old::new(endpoint, |_| http(405, "", ""), |_| accepted(None)).await;
        let error = server.connect(RevisionChoice::Auto).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.to_string().contains(why), "{endpoint}: {error}");
    }
    assert!(timeout(Duration::from_millis(50), other.accept()).await.is_err(), "the stranger got something");
}

#[tokio::test]
async fn sse_07_sse_08_and_sse_09_the_fallback_needs_its_statuses() {
    use RevisionChoice::{Auto, Pinned};
    let old = Pinned(Revision::V2025_06_18);
    let error = |code: i64| json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": "m"}}).to_string();
    let (html, odd, modern) = ("<html>no</html>".to_owned(), error(-32000), error(-32022));
    for (choice, status, body, falls_back) in [
        (Auto, 400, &html, true),
        (Auto, 404, &html, true),
        (Auto, 405, &html, true),
        (Auto, 405, &odd, true),
        (old, 405, &html, true),
        (old, 410, &html, true),
        (old, 422, &odd, true),
        (Auto, 410, &html, false),
        (old, 401, &html, false),
        (old, 403, &html, false),
        (old, 503, &html, false),
        (old, 400, &modern, false),
    ] {
        let body = body.clone();
        let refuse = move |request: &Seen| match request.rpc() {
            "server/discover" => http(404, "", ""),
            _ => http(status, "Content-Type: application/json\r\n", &body),
        };
        let server = Old::new("/messages", refuse, |_| accepted(None)).await;
        // The server answers with 2024-11-05, which the pinned client does not accept.
        let connected = server.connect(choice).await;
        assert_eq!(connected.is_ok(), falls_back && choice == Auto, "{choice:?} {status}");
        let asked = server.diary().iter().any(|what| what == "initialize");
        assert_eq!(asked, falls_back, "{choice:?} {status}: {:?}", server.diary());
    }
}

#[tokio::test]
async fn sse_06_where_neither_transport_is_the_refusal_is_reported() {
    for (answer, reason) in [
        (http(404, "", ""), FailureReason::Status),
        (http(200, "", "<html>"), FailureReason::InvalidResponse),
        (events("event: other\ndata: x\n\n"), FailureReason::Broken),
    ] {
        let server = Scripted::new(move |request| match &*request.method {
            "GET" => (0, answer.clone()),
            _ => (0, http(404, "", "no such page")),
        })
        .await;
        let error = connect(&server, RevisionChoice::Auto).await.err().unwrap();
        assert!(error.to_string().contains("neither Streamable HTTP nor HTTP+SSE"), "{error}");
        assert_eq!(error.connection().unwrap().http_status, Some(404));
        let place = HttpEndpoint::new(server.url.as_str()).with_http_sse(true);
        let error = timeout(TEST_TIMEOUT, Client::connect(place)).await.unwrap().err().unwrap();
        assert_eq!(error.connection().unwrap().reason, Some(reason), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_names_no_endpoint_does_not_hang() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = HttpEndpoint::new(format!("http://{}/sse", listener.local_addr().unwrap())).with_http_sse(true);
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await.unwrap();
        socket.write_all(events(": nothing\n\n").as_bytes()).await.unwrap();
        sleep(TEST_TIMEOUT).await;
    });
    let options = ClientOptions::default().with_connect_timeout(Duration::from_millis(200));
    let error = timeout(TEST_TIMEOUT, Client::connect_with(place, options, ())).await.unwrap().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[tokio::test]
async fn sse_06_a_server_that_was_found_is_not_searched_again_until_it_changes() {
    let refuse = |request: &Seen| match request.rpc() {
        _ if request.header("x-moved").is_none() || request.method == "GET" => http(405, "", ""),
        "initialize" => json_answer(200, &initialized(request, "2025-06-18")),
        _ => http(202, "", ""),
    };
    let server = Old::new("/messages", refuse, |request| accepted(Some(&result(request, json!({}))))).await;
    server.connect(RevisionChoice::Auto).await.unwrap().close().await;
    let first = server.diary();
    assert_eq!(first[..3], ["POST /sse", "POST /sse", "GET /sse"], "discovery, the handshake, the fallback");
    for choice in [RevisionChoice::Auto, RevisionChoice::Legacy] {
        let before = server.diary().len();
        let client = server.connect(choice).await.unwrap();
        assert_eq!(server.diary()[before..before + 2], ["GET /sse", "initialize"]);
        request(&client, "ping").await.unwrap();
        client.close().await;
    }
    server.has_moved.store(true, Ordering::SeqCst);
    let before = server.diary().len();
    let place = HttpEndpoint::new(server.url.as_str()).with_header("X-Moved", "yes");
    let client = timeout(TEST_TIMEOUT, Client::connect_with(place, choose(RevisionChoice::Legacy), ())).await;
    assert_eq!(client.unwrap().unwrap().revision(), Revision::V2025_06_18);
    assert_eq!(server.diary()[before..before + 2], ["GET /sse", "POST /sse"]);
}

#[tokio::test]
async fn a_lost_stream_ends_its_calls_and_the_next_call_reconnects() {
    let react = |request: &Seen| match request.rpc() {
        "tools/list" => Reaction { event: Some(String::new()), ..accepted(None) },
        "prompts/list" => Reaction { status: 404, ..accepted(None) },
        "resources/list" => Reaction { event: Some(format!("data: {}\n\n", "x".repeat(3_000))), ..accepted(None) },
        "resources/templates/list" => Reaction { status: 503, ..accepted(None) },
        _ => accepted(Some(&result(request, json!({})))),
    };
    let server = Old::new("/messages", |_| http(405, "", ""), react).await;
    let options = choose(RevisionChoice::Auto).with_max_message_bytes(2_000);
    let client = Client::connect_with(server.url.as_str(), options, ()).await.unwrap();
    for (method, why, connects) in [
        ("tools/list", "ended the stream", true),
        ("prompts/list", "does not know the session", true),
        ("resources/list", "larger than the limit", true),
        ("resources/templates/list", "HTTP 503", false),
    ] {
        let error = request(&client, method).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{method}: {error}");
        assert!(error.to_string().contains(why), "{method}: {error}");
        let before = server.diary().len();
        request(&client, "ping").await.unwrap();
        let connected = server.diary()[before..].contains(&"GET /sse".to_owned());
        assert_eq!(connected, connects, "{method}: {:?}", &server.diary()[before..]);
        assert!(!server.diary()[before..].contains(&"POST /sse".to_owned()), "the verdict is known");
    }
    client.close().await;
}

#[tokio::test]
async fn a_cancellation_does_not_overtake_its_call() {
    let react =
        |request: &Seen| Reaction { delay: if request.rpc() == "tools/call" { 1_500 } else { 0 }, ..accepted(None) };
    let server = Old::new("/messages", |_| http(405, "", ""), react).await;
    let client = server.connect(RevisionChoice::Auto).await.unwrap();
    // Longer than the call takes to reach the server on a busy machine.
    let hasty = RequestOptions::default().with_timeout(Duration::from_secs(1));
    assert_eq!(call(&client, "any", json!({}), &hasty).await.unwrap_err().kind(), ErrorKind::Timeout);
    let started = Instant::now();
    while !server.diary().contains(&"notifications/cancelled".to_owned()) {
        assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", server.diary());
        sleep(Duration::from_millis(10)).await;
    }
    let place = |what: &str| server.diary().iter().position(|noted| noted == what).unwrap();
    assert!(place("done tools/call") < place("notifications/cancelled"), "{:?}", server.diary());
    client.close().await;
}
