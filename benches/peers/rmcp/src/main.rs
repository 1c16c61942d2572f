//! rmcp peer. `peer-rmcp stdio|http PORT [json] [stateless] [nodelay] [--tools N]` or
//! `peer-rmcp client N INFLIGHT -- server cmd...` or `peer-rmcp client N INFLIGHT URL` (SDK client
//! benchmark).
use rmcp::{
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        wrapper::Parameters,
    },
    model::*,
    tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        session::local::LocalSessionManager, StreamableHttpServerConfig, StreamableHttpService,
    },
    ServerHandler, ServiceExt,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::{BufRead, Write};
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
struct EchoArgs {
    message: String,
}
#[derive(Deserialize, JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Peer {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Peer {
    #[tool(description = "Echo the message back")]
    async fn echo(&self, p: Parameters<EchoArgs>) -> String {
        p.0.message
    }
    #[tool(description = "Add two integers")]
    async fn add(&self, p: Parameters<AddArgs>) -> String {
        (p.0.a + p.0.b).to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Peer {}

fn peer(extra: usize) -> Peer {
    let mut r = Peer::tool_router();
    let schema = r.list_all().into_iter().find(|t| t.name == "add").unwrap().input_schema;
    for i in 0..extra {
        let t = Tool::new(format!("tool_{i:03}"), format!("Generated tool number {i}"), Arc::clone(&schema));
        r.add_route(ToolRoute::new_dyn(t, |_ctx| {
            Box::pin(async { Ok(CallToolResult::success(vec![ContentBlock::text("0")]).into()) })
        }));
    }
    Peer { tool_router: r }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let has = |f: &str| a.iter().any(|x| x == f);
    let extra = a.iter().position(|x| x == "--tools").map_or(0, |i| a[i + 1].parse().unwrap());
    match a[0].as_str() {
        "stdio" => {
            peer(extra).serve(rmcp::transport::stdio()).await?.waiting().await?;
        }
        "http" => {
            let mut cfg = StreamableHttpServerConfig::default();
            if has("stateless") {
                cfg = cfg.with_legacy_session_mode(false);
            }
            if has("json") {
                cfg = cfg.with_json_response(true);
            }
            let proto = peer(extra);
            let svc =
                StreamableHttpService::new(move || Ok(proto.clone()), Arc::new(LocalSessionManager::default()), cfg);
            let l = tokio::net::TcpListener::bind(("127.0.0.1", a[1].parse::<u16>()?)).await?;
            let app = axum::Router::new().nest_service("/mcp", svc);
            // rmcp's own examples use axum::serve without TCP_NODELAY; `nodelay` turns it on.
            if has("nodelay") {
                use axum::serve::ListenerExt;
                axum::serve(l.tap_io(|s| s.set_nodelay(true).unwrap()), app).await?;
            } else {
                axum::serve(l, app).await?;
            }
        }
        "client" => client(&a).await?,
        _ => panic!("usage"),
    }
    Ok(())
}

async fn client(a: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    use rmcp::transport::{ConfigureCommandExt, StreamableHttpClientTransport, TokioChildProcess};
    let reads = a[2] == "resource";
    let (n, inflight): (usize, usize) = (a[1].parse()?, if reads { 0 } else { a[2].parse()? });
    let c = Arc::new(match &a[3..] {
        [_dashes, program, args @ ..] => {
            let configure = |c: &mut tokio::process::Command| {
                c.args(args);
            };
            ().serve(TokioChildProcess::new(tokio::process::Command::new(program).configure(configure))?).await?
        }
        [url] => ().serve(StreamableHttpClientTransport::from_uri(url.as_str())).await?,
        [] => panic!("usage"),
    });
    let call = |c: Arc<rmcp::service::RunningService<rmcp::RoleClient, ()>>, i: usize| async move {
        let m = format!("m{i}");
        let mut o = serde_json::Map::new();
        o.insert("message".into(), m.clone().into());
        let r = c.call_tool(CallToolRequestParams::new("echo").with_arguments(o)).await.unwrap();
        assert_eq!(r.content[0].as_text().unwrap().text, m);
    };
    for i in 0..if reads { 0 } else { 200 } {
        call(c.clone(), i).await;
    }
    println!("READY");
    std::io::stdout().flush()?;
    let mut s = String::new();
    std::io::stdin().lock().read_line(&mut s)?;
    for _ in 0..if reads { n } else { 0 } {
        let r = c.read_resource(rmcp::model::ReadResourceRequestParams::new("bench:blob")).await?;
        match &r.contents[..] {
            [rmcp::model::ResourceContents::BlobResourceContents { blob, .. }] if blob.len() == 16 << 20 => {}
            _ => panic!("wrong contents"),
        }
    }
    let mut hs = vec![];
    for w in 0..inflight {
        let c = c.clone();
        hs.push(tokio::spawn(async move {
            for i in 0..n / inflight {
                call(c.clone(), w * 1_000_000 + i).await;
            }
        }));
    }
    for h in hs {
        h.await?;
    }
    println!("DONE");
    std::io::stdout().flush()?;
    std::io::stdin().lock().read_line(&mut s)?;
    std::process::exit(0)
}
