//! Items of a list that have the name of an earlier one, on the same page or another.

use super::{odd_answers::Warnings, *};
use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use trunkline::{
    RevisionChoice, Server,
    client::ClientGroup,
    transport::{Channel, ChannelConnector, Target},
};

/// A server with a page of tools for each cursor: `n` of `b` is a string on the first page, and an
/// integer on the second.
struct Paged {
    hints: &'static str,
    to_client: mpsc::UnboundedSender<Bytes>,
    from_server: AsyncMutex<mpsc::UnboundedReceiver<Bytes>>,
}

impl Paged {
    fn result(&self, message: &Value) -> String {
        let tool = |name: &str, ty: &str| {
            let output = json!({"type": "object", "properties": {"n": {"type": ty}}});
            json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": output}).to_string()
        };
        let tools = |tools: [String; 2]| format!(r#""tools":[{}]"#, tools.join(","));
        let hints = self.hints;
        match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "paged", "version": "1"}})
            .to_string(),
            "server/discover" => {
                let server = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"paged","version":"1"}}"#;
                format!(r#"{{{hints}"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},{server}}}"#)
            }
            "tools/call" => {
                let kind = if hints.is_empty() { "" } else { r#""resultType":"complete","# };
                format!(r#"{{{kind}"content":[],"structuredContent":{{"n":"text"}}}}"#)
            }
            _ if message["params"]["cursor"].is_null() => {
                format!(r#"{{{hints}{},"nextCursor":"2"}}"#, tools([tool("a", "string"), tool("b", "string")]))
            }
            _ => format!("{{{hints}{}}}", tools([tool("b", "integer"), tool("c", "string")])),
        }
    }
}

impl Channel for Paged {
    async fn send(&self, message: Bytes) -> Result<(), LinkFailure> {
        let message: Value = serde_json::from_slice(&message).unwrap();
        if let Some(id) = message.get("id") {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, self.result(&message));
            self.to_client.send(answer.into()).map_err(|_| LinkFailure::Closed)?;
        }
        Ok(())
    }

    async fn receive(&self) -> Result<Option<Bytes>, LinkFailure> {
        Ok(self.from_server.lock().await.recv().await)
    }

    async fn close(&self) {}
}

fn target(hints: &'static str) -> Target {
    Target::from(ChannelConnector::new(move || async move {
        let (to_client, from_server) = mpsc::unbounded_channel();
        Ok(Paged { hints, to_client, from_server: AsyncMutex::new(from_server) })
    }))
}

fn options(revision: Revision) -> ClientOptions {
    ClientOptions::default().with_revision(RevisionChoice::Pinned(revision)).with_listen(false)
}

/// Lists the tools twice, and calls the one that is there twice.
async fn check(how: &str, client: &Client, prefix: &str, log: &Warnings) {
    for time in 1..=2 {
        log.0.lock().unwrap().clear();
        let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b", "c"].map(|name| format!("{prefix}{name}")), "{how}");
        let warnings = log.0.lock().unwrap().clone();
        let parts =
            ["left out tools[2]: an earlier one has the same `name`", " server=paged", " method=tools/list", " item=b"];
        let is_there = |text: &&String| parts.iter().all(|part| text.contains(part));
        assert_eq!((warnings.iter().filter(is_there).count(), warnings.len()), (1, 1), "{how}, {time}: {warnings:?}");
    }
    // The schema of the first one counts.
    let result = client.call_tool(&format!("{prefix}b"), json!({})).await.unwrap();
    assert_eq!(result.structured_content, Some(json!({"n": "text"})), "{how}");
}

/// TOOL-09: the first item with a name is the one that is listed, and the one that counts.
#[tokio::test]
async fn tool_09_a_tool_is_not_listed_again_on_a_later_page() {
    // With only one subscriber, `tracing` lets the first thread decide for its place in the code.
    let _other = tracing::Dispatch::new(Warnings::default());
    let log = Warnings::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let cached = r#""resultType":"complete","ttlMs":60000,"cacheScope":"public","#;
    for (revision, hints) in [(Revision::V2025_11_25, ""), (Revision::V2026_07_28, cached)] {
        let how = |way: &str| format!("{way}, {revision}");
        let client = Client::connect_with(target(hints), options(revision), ()).await.unwrap();
        check(&how("alone"), &client, "", &log).await;
        let group = ClientGroup::connect_with([("paged", target(hints))], options(revision), ()).await.unwrap();
        check(&how("in a group"), &group, "paged__", &log).await;
        let gateway = Server::builder("gateway", "1").proxy(&client).build();
        let front = Client::connect(&gateway).await.unwrap();
        check(&how("behind a proxy"), &front, "", &log).await;
    }
}
