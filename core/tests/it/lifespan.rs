//! The lifespan of a server on each transport, and the hook that watches its errors.

#[cfg(unix)]
use crate::foreground::signal;
use crate::{
    process::{DEADLINE, File},
    wire::{Wire, text_of},
};
use serde_json::json;
use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;
use trunkline::{
    CallError, Client, Context, HttpOptions, Server, ServerBuilder, ToolError,
    server::{Lifespan, MiddlewareDefinition, Next},
};

/// A server whose lifespan writes down its end, as a role of this binary.
pub(crate) const ROLE: &str = "server with a lifespan";

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn serve(file: PathBuf) {
    let (seen, server) = living();
    server.build().serve_stdio().await.unwrap();
    // Nothing waits any more: what is not closed now stays open for ever.
    std::fs::write(file, seen.take().join(" ")).unwrap();
}

/// The events, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    async fn becomes(&self, expected: &[&str]) {
        let become_so = async {
            while *self.0.lock().unwrap() != expected {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(DEADLINE, become_so).await.expect("it becomes so");
    }
}

struct Database {
    seen: Seen,
    name: &'static str,
}

fn living() -> (Seen, ServerBuilder) {
    let (seen, server) = (Seen::default(), Server::builder("living", "1.0.0"));
    let opened = seen.clone();
    let open = move || {
        let seen = opened.clone();
        async move {
            // Others wait for the same.
            tokio::time::sleep(Duration::from_millis(5)).await;
            seen.push("opened");
            Ok::<_, io::Error>(Database { seen, name: "orders" })
        }
    };
    let close = |database: Arc<Database>| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        database.seen.push("closed");
    };
    let query = async |Lifespan(database): Lifespan<Database>| {
        database.seen.push("called");
        database.name
    };
    (seen, server.lifespan(open, close).tool("query", "Query the database.", query))
}

async fn query(client: &Client, tool: &str) -> String {
    client.call_tool(tool, json!({})).await.unwrap().joined_text()
}

#[tokio::test]
async fn clients_in_memory_share_a_lifespan_until_the_last_one_closes() {
    let (seen, server) = living();
    let server = server.build();
    let (one, two) = (Client::connect(&server).await.unwrap(), Client::connect(&server).await.unwrap());
    let calls = tokio::join!(query(&one, "query"), query(&two, "query"));
    assert_eq!(calls, ("orders".to_owned(), "orders".to_owned()));
    one.close().await;
    assert_eq!(query(&two, "query").await, "orders");
    assert_eq!(seen.take(), ["opened", "called", "called", "called"]);
    two.close().await;
    assert_eq!(seen.take(), ["closed"]);
    // Another life.
    let again = Client::connect(&server).await.unwrap();
    assert_eq!(query(&again, "query").await, "orders");
    assert_eq!(seen.take(), ["opened", "called"]);
    // A client that is dropped lets go of it, too.
    drop(again);
    seen.becomes(&["closed"]).await;
}

#[tokio::test]
async fn http_listeners_and_services_close_it_when_they_have_ended() {
    let (seen, server) = living();
    let server = server.build();
    let listener = server.listen_with(HttpOptions::default().with_port(0)).await.unwrap();
    assert_eq!(seen.take(), ["opened"], "before the first call");
    let service = server.clone().into_service();
    let client = Client::connect(listener.url().unwrap()).await.unwrap();
    assert_eq!(query(&client, "query").await, "orders");
    client.close().await;
    listener.close(Duration::from_secs(5)).await;
    assert_eq!(seen.take(), ["called"], "the service is there");
    service.close(Duration::from_secs(5)).await;
    assert_eq!(seen.take(), ["closed"]);
    // A service that is dropped lets go of it, too; nothing has opened it.
    drop(server.clone().into_service());
    assert_eq!(seen.take(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_server_that_is_mounted_lives_with_the_other_one() {
    let (inside, inner) = living();
    let (outside, outer) = living();
    let outer = outer.mount("in", &inner.build()).build();
    let listener = outer.listen_with(HttpOptions::default().with_port(0)).await.unwrap();
    let client = Client::connect(listener.url().unwrap()).await.unwrap();
    assert_eq!((query(&client, "query").await, query(&client, "in__query").await), ("orders".into(), "orders".into()));
    assert_eq!(
        (inside.take(), outside.take()),
        (vec!["opened".into(), "called".into()], vec!["opened".into(), "called".into()])
    );
    client.close().await;
    listener.close(Duration::from_secs(5)).await;
    assert_eq!((inside.take(), outside.take()), (vec!["closed".into()], vec!["closed".into()]));
}

#[tokio::test]
async fn a_server_on_a_mounted_one_lives_with_the_outermost() {
    let (seen, inner) = living();
    let middle = Server::builder("middle", "1.0.0").mount("in", &inner.build()).build();
    let outer = Server::builder("outer", "1.0.0").mount("mid", &middle).build();
    let client = Client::connect(&outer).await.unwrap();
    assert_eq!(query(&client, "mid__in__query").await, "orders");
    assert_eq!(seen.take(), ["opened", "called"], "by the first call");
    client.close().await;
    assert_eq!(seen.take(), ["closed"]);
}

#[tokio::test]
async fn what_cannot_be_opened_fails_where_it_is_served_and_is_tried_again() {
    let can_open = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&can_open);
    let open = move || {
        let can_open = asked.load(Ordering::SeqCst);
        async move { if can_open { Ok("open") } else { Err(io::Error::other("no database")) } }
    };
    let server = Server::builder("failing", "1.0.0")
        .lifespan(open, async |_: Arc<&str>| ())
        .tool("value", "Tell the value.", async |Lifespan(value): Lifespan<&'static str>| *value)
        .tool("other", "Asks for another type.", async |ctx: Context| ctx.lifespan::<String>().is_none())
        .build();
    let refused = server.listen_with(HttpOptions::default().with_port(0)).await.err().expect("it cannot be opened");
    assert_eq!(refused.to_string(), "the lifespan of the server could not be opened: no database");
    let refused = Client::connect(&server).await.err().expect("it cannot be opened");
    assert!(refused.to_string().ends_with("the lifespan of the server could not be opened: no database"), "{refused}");
    can_open.store(true, Ordering::SeqCst);
    let client = Client::connect(&server).await.unwrap();
    assert_eq!(query(&client, "value").await, "open");
    assert_eq!(query(&client, "other").await, "true");
}

#[tokio::test]
async fn one_that_opens_just_as_its_listener_is_cancelled_is_closed() {
    for is_opened in [true, false] {
        let (seen, answer) = (Seen::default(), Arc::new(Notify::new()));
        let (opening, opened, closing) = (seen.clone(), Arc::clone(&answer), seen.clone());
        let open = move || {
            let (seen, opened) = (opening.clone(), Arc::clone(&opened));
            async move {
                seen.push("opening");
                opened.notified().await;
                Ok::<_, ToolError>(())
            }
        };
        let close = move |_: Arc<()>| {
            closing.push("closed");
            async {}
        };
        let server = Server::builder("notes", "1").lifespan(open, close).build();
        let listening = server.listen("127.0.0.1:0");
        tokio::select! {
            biased;
            _ = listening => panic!("it listens"),
            () = seen.becomes(&["opening"]) => {
                if is_opened {
                    answer.notify_one();
                }
            }
        }
        if is_opened {
            seen.becomes(&["opening", "closed"]).await;
        } else {
            // The next listener opens the lifespan again.
            let listening = tokio::spawn(async move { server.listen("127.0.0.1:0").await });
            seen.becomes(&["opening", "opening"]).await;
            answer.notify_one();
            listening.await.unwrap().unwrap().close(Duration::ZERO).await;
            seen.becomes(&["opening", "opening", "closed"]).await;
        }
    }
}

#[tokio::test]
async fn a_listener_that_cannot_bind_closes_it_before_it_fails() {
    let (seen, server) = living();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let options = HttpOptions::default().with_port(taken.local_addr().unwrap().port());
    let refused = server.build().listen_with(options).await.err().expect("the port is taken");
    assert_eq!(refused.kind(), io::ErrorKind::AddrInUse, "{refused}");
    assert_eq!(seen.take(), ["opened", "closed"]);
}

/// A client leaves while its call opens the lifespan of a mounted server.
#[tokio::test]
async fn closing_waits_for_one_that_a_call_still_opens() {
    let (seen, begun) = (Seen::default(), Arc::new(Notify::new()));
    let (opened, begins) = (seen.clone(), Arc::clone(&begun));
    let open = move || {
        let (seen, begun) = (opened.clone(), Arc::clone(&begins));
        async move {
            begun.notify_one();
            tokio::time::sleep(Duration::from_millis(50)).await;
            seen.push("opened");
            Ok::<_, io::Error>(seen)
        }
    };
    let inner = Server::builder("inner", "1.0.0")
        .lifespan(open, async |seen: Arc<Seen>| seen.push("closed"))
        .tool("query", "Query the database.", async || "orders")
        .build();
    let outer = Server::builder("outer", "1.0.0").mount("in", &inner).build();
    let client = Client::connect(&outer).await.unwrap();
    let leaving = async {
        begun.notified().await;
        client.close().await;
        assert_eq!(seen.take(), ["opened", "closed"]);
    };
    let (call, ()) = tokio::join!(client.call_tool("in__query", json!({})), leaving);
    call.expect_err("its client has left");
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_it_opens_does_not_run() {
    let (seen, begun, answer) = (Seen::default(), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, opened, called) = (Arc::clone(&begun), Arc::clone(&answer), seen.clone());
    let open = move || {
        let (begun, opened) = (Arc::clone(&begins), Arc::clone(&opened));
        async move {
            begun.notify_one();
            opened.notified().await;
            Ok::<_, ToolError>(())
        }
    };
    let call = move || {
        let seen = called.clone();
        async move {
            seen.push("called");
            "orders"
        }
    };
    let inner = Server::builder("inner", "1.0.0")
        .lifespan(open, async |_: Arc<()>| ())
        .tool("query", "Query the database.", call)
        .build();
    let outer = Server::builder("outer", "1.0.0").mount("in", &inner).build();
    let client = Client::connect(&outer).await.unwrap();
    let leaving = client.clone();
    let cancelled = tokio::spawn(async move { leaving.call_tool("in__query", json!({})).await });
    begun.notified().await;
    cancelled.abort();
    cancelled.await.expect_err("it is cancelled");
    answer.notify_one();
    assert_eq!(query(&client, "in__query").await, "orders");
    assert_eq!(seen.take(), ["called"]);
}

/// A server in a process, one of whose calls has used its lifespan.
fn used(file: &File) -> Wire {
    let mut wire = Wire::start(ROLE, file);
    wire.open("2025-11-25");
    wire.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query"}}));
    assert_eq!(text_of(&wire.answer(1)), "orders");
    wire
}

#[test]
fn a_server_on_a_pipe_closes_it_before_its_process_ends() {
    let file = File::new();
    let (_, status, _) = used(&file).close();
    assert!(status.success());
    assert_eq!(file.text(), "opened called closed");
}

#[cfg(unix)]
#[test]
fn a_signal_closes_it_before_the_process_ends() {
    for name in ["-TERM", "-INT"] {
        let file = File::new();
        let mut wire = used(&file);
        signal(wire.id(), name);
        assert!(wire.ended().success(), "{name}");
        assert_eq!(file.text(), "opened called closed", "{name}");
    }
}

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
struct NoInk;

#[tokio::test]
async fn errors_hidden_from_the_client_are_passed_to_the_hook() {
    let seen = Seen::default();
    let watched = seen.clone();
    let hook = move |error: &ToolError, ctx: &Context| {
        let is_ink = error.internal_error().is_some_and(|error| error.is::<NoInk>());
        watched.push(format!("{} {error} {is_ink}", ctx.name()));
    };
    let server = Server::builder("printer", "1.0.0")
        .on_error(hook)
        .on_error(|_, _| panic!("a hook that panics costs nothing"))
        .tool("print", "Print.", async || Err::<(), CallError>(NoInk.into()))
        .tool("tell", "Tell.", async || Err::<(), _>(ToolError::new("the paper is jammed")))
        .tool("panic", "Panic.", async || if true { panic!("on fire") } else { "" })
        .resource("ink:///level", "level", async || Err::<String, CallError>(NoInk.into()))
        .add_middleware(
            MiddlewareDefinition::from_fn(|_: Context, next: Next| async move {
                if next.method() == "prompts/list" { Err(NoInk.into()) } else { Ok(next.run().await?) }
            })
            .methods(["prompts/list", "tools/call"]),
        )
        .prompt("form", "A form.", async || "form")
        .build();
    let client = Client::connect(&server).await.unwrap();
    assert!(client.call_tool("print", json!({})).await.unwrap().is_error);
    assert_eq!(client.call_tool("tell", json!({})).await.unwrap().joined_text(), "the paper is jammed");
    assert!(client.call_tool("panic", json!({})).await.unwrap().is_error);
    assert!(client.read_resource("ink:///level").await.is_err());
    assert!(client.list_prompts().await.is_err());
    assert_eq!(
        seen.take(),
        [
            "print no ink true",
            "panic the handler panicked: on fire false",
            "ink:///level no ink true",
            "prompts/list no ink true"
        ]
    );
}
