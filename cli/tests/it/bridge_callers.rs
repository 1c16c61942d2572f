//! The callers of a bridge, and the tools that they may use.

use crate::{
    bridge::{Listening, bridge, connect, initialize, text, weather_at},
    program::{Folder, trunkline},
    roles::{Role, post, post_with, soon, until},
};
use serde_json::json;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use trunkline::{Revision, transport::Target};

/// Makes a token with the program: the token, and its line.
fn new_token(name: &str) -> (String, String) {
    let made = trunkline(&["token", "new", name, "--json", "--expires", "90d"]).done().json();
    (made["token"].as_str().unwrap().to_owned(), made["line"].as_str().unwrap().to_owned())
}

#[test]
fn callers_need_a_token_of_the_file_which_may_change() {
    let folder = Folder::new();
    let [(ada, of_ada), (bob, of_bob)] = ["ada", "bob"].map(new_token);
    let file = folder.write("tokens.txt", &of_ada);
    let there = Listening::start(&["--tokens", &file, "--health"], Role::Server.command());
    let status = |token: &str| {
        let header = format!("Authorization: Bearer {token}");
        let (_, answer) = post_with(&there.url, &[&header], &initialize());
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!((&*status(&ada), &*status(&bob)), ("200", "401"));
    let (_, refused) = post(&there.url, None, &initialize());
    let refused = refused.to_lowercase();
    assert!(refused.starts_with("http/1.1 401") && refused.contains("www-authenticate: bearer\r\n"), "{refused}");
    assert!(!refused.contains("resource_metadata"), "{refused}");
    folder.write("tokens.txt", &of_bob);
    until(|| status(&bob) == "200");
    assert_eq!(status(&ada), "401");
}

#[test]
fn a_new_token_is_a_line_for_the_file_and_shown_once() {
    let made = trunkline(&["token", "new", "ada"]).done();
    let token = made.stderr.trim().rsplit(' ').next().unwrap();
    let words: Vec<_> = made.stdout.split_whitespace().collect();
    assert!(words.len() == 2 && words[0] == "ada" && words[1].len() == 64, "{made:?}");
    assert!(token.len() >= 43 && !made.stdout.contains(token), "{made:?}");
    for (words, problem) in [
        (&["token", "new", "a b"][..], "one word"),
        (&["token", "new", "ada", "--expires", "soon"], "no time from now"),
        (&["token", "new", "ada", "--expires", "2027-13-01"], "a date such as"),
    ] {
        let said = trunkline(words);
        assert!(said.failed(2).contains(problem), "{said:?}");
    }
}

#[test]
fn what_does_not_name_callers_is_refused() {
    let folder = Folder::new();
    let wrong = folder.write("wrong.txt", "ada my-secret\n");
    for (flags, problem) in [
        (&["--tokens", &wrong, "--listen", ":0"][..], "line 1: the second word"),
        (&["--tokens", "/none/such", "--listen", ":0"], "cannot be read"),
        (&["--tokens", &wrong], "--listen"),
        (&["--no-auth"], "--listen"),
        (&["--issuer", "https://login.example", "--listen", ":0"], "--audience"),
        (&["--issuer", "login", "--audience", "https://mcp.example/mcp", "--listen", ":0"], "https URL"),
        (&["--issuer", "https://login.example", "--audience", "me", "--listen", ":0"], "public URL"),
        (&["--apiKey", "my-secret", "--listen", ":0"], "trunkline token new"),
    ] {
        let ran = trunkline(&[&["bridge"], flags, &["http://127.0.0.1:1/"]].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains(problem), "{flags:?}: {ran:?}");
        assert!(!ran.stderr.contains("my-secret"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_beyond_this_machine_serves_callers_with_tokens() {
    let folder = Folder::new();
    let (ada, line) = new_token("ada");
    let file = folder.write("tokens.txt", &line);
    let there = Listening::start(&["--tokens", &file, "--listen", "0.0.0.0:0"], Role::Server.command());
    let url = there.url.replace("0.0.0.0", "127.0.0.1");
    let target = trunkline::HttpEndpoint::new(&url).with_header("Authorization", format!("Bearer {ada}"));
    for revision in Revision::ALL {
        let client = connect(target.clone(), revision).await;
        assert_eq!(text(&client, "forecast").await, "sun", "{revision}");
        client.close().await;
    }
}

/// Passes connections on to a server, and keeps what its clients have sent.
async fn relay(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let (listener, sent) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), Arc::new(Mutex::new(Vec::new())));
    let (address, kept) = (listener.local_addr().unwrap(), Arc::clone(&sent));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = TcpStream::connect(to).await.unwrap().into_split();
            let kept = Arc::clone(&kept);
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            tokio::spawn(async move {
                let mut bytes = vec![0; 1 << 16];
                while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
                    kept.lock().unwrap().extend_from_slice(&bytes[..count]);
                    if to_server.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_the_token_of_a_caller_never_goes_on_to_the_server() {
    let folder = Folder::new();
    let (ada, line) = new_token("ada");
    let file = folder.write("tokens.txt", &line);
    let listener = weather_at(0).await;
    let (address, sent) =
        relay(listener.url().unwrap()["http://".len()..].split('/').next().unwrap().parse().unwrap()).await;
    let entry = json!({"url": format!("http://{address}/mcp"), "headers": {"X-Own": "of-the-bridge"}});
    let config = folder.write("mcp.json", &json!({"mcpServers": {"notes": entry}}).to_string());
    let there = Listening::start(&["--tokens", &file], [config]);
    let target = trunkline::HttpEndpoint::new(&there.url)
        .with_header("Authorization", format!("Bearer {ada}"))
        .with_header("Cookie", "session=of-ada");
    for revision in Revision::ALL {
        let client = connect(target.clone(), revision).await;
        assert_eq!(text(&client, "forecast").await, "sun", "{revision}");
        client.close().await;
    }
    let sent = String::from_utf8_lossy(&sent.lock().unwrap()).into_owned();
    assert!(sent.contains("forecast") && sent.contains("of-the-bridge"), "{sent}");
    assert!(!sent.contains(&ada) && !sent.contains("of-ada"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_tools_are_neither_listed_nor_called() {
    let there = Listening::start(&["--tool-deny", "d*,pid"], Role::Server.command());
    let flags = ["--tool-allow", "f*", "--tool-allow", "p?d", "--ignore-tool", "pid"].map(str::to_owned);
    let here = bridge(flags.into_iter().chain(Role::Server.command()));
    for target in [Target::from(there.url.as_str()), here.into()] {
        for revision in Revision::ALL {
            let client = connect(target.clone(), revision).await;
            let tools = soon(client.list_tools()).await.unwrap();
            assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["forecast"], "{revision}");
            let error = soon(client.call_tool("die", json!({}))).await.unwrap_err();
            assert!(error.to_string().contains("Unknown tool: die"), "{revision}: {error}");
            assert_eq!(text(&client, "forecast").await, "sun", "{revision}");
            client.close().await;
        }
    }
}
