//! The official Rust SDK, 3.x line. Usage: see ../README.md. `client --auto …` turns on its version negotiation (off by default).

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::handler::server::{router::tool::ToolRouter, wrapper::Parameters};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient, ServerHandler, ServiceExt, tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;

type Fallible = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Fallible {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", "stdio"] => serve_stdio().await,
        ["server", "http", port] => serve_http(port.parse()?).await,
        ["client", "--auto", kind, ..] if arguments.len() > 3 => client(true, kind, &arguments[3..]).await,
        ["client", kind, ..] if arguments.len() > 2 => client(false, kind, &arguments[2..]).await,
        _ => {
            Err("usage: server stdio | server http PORT | client [--auto] http URL | client [--auto] stdio COMMAND..."
                .into())
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct AddNumbers {
    a: f64,
    b: f64,
}

#[derive(Clone)]
struct Peer {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Peer {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Give the message back.")]
    async fn echo(&self, Parameters(echo): Parameters<Echo>) -> String {
        echo.message
    }

    #[tool(description = "Add two numbers.")]
    async fn add_numbers(&self, Parameters(numbers): Parameters<AddNumbers>) -> String {
        (numbers.a + numbers.b).to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Peer {}

async fn serve_stdio() -> Fallible {
    Peer::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

async fn serve_http(port: u16) -> Fallible {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening http://{}/mcp", listener.local_addr()?);
    let service =
        StreamableHttpService::new(|| Ok(Peer::new()), Arc::new(LocalSessionManager::default()), Default::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}

async fn client(auto: bool, kind: &str, target: &[String]) -> Fallible {
    if kind == "http" {
        check(connect(auto, StreamableHttpClientTransport::from_uri(target[0].clone())).await?).await
    } else {
        let mut command = tokio::process::Command::new(&target[0]);
        command.args(&target[1..]);
        check(connect(auto, TokioChildProcess::new(command)?).await?).await
    }
}

async fn connect<T, E, A>(auto: bool, transport: T) -> Result<RunningService<RoleClient, ()>, Box<dyn Error>>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    Ok(if auto { ().serve_with_lifecycle(transport, lifecycle).await? } else { ().serve(transport).await? })
}

async fn check(peer: RunningService<RoleClient, ()>) -> Fallible {
    let tools = peer.list_all_tools().await?;
    for name in ["echo", "add_numbers"] {
        if !tools.iter().any(|tool| tool.name == name) {
            return Err(format!("no tool {name}").into());
        }
    }
    let numbers = [("a".into(), 2.into()), ("b".into(), 3.into())].into_iter().collect();
    let result = peer.call_tool(CallToolRequestParams::new("add_numbers").with_arguments(numbers)).await?;
    if result.is_error == Some(true)
        || result.content.first().and_then(|block| block.as_text()).map(|text| &*text.text) != Some("5")
    {
        return Err(format!("wrong result: {result:?}").into());
    }
    let revision = peer.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    println!("ok {revision}");
    peer.cancel().await?;
    Ok(())
}
