//! The official Rust SDK, 3.x line. Usage: see ../README.md.

mod asking;
mod changing;
mod play;
mod server;

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager};

use server::Features;

type Fallible<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str =
    "usage: server stdio | server http PORT | client --play FILE URL | client --play FILE --stdio COMMAND...";

/// On one thread: the SDK handles each notification in a separate task, so those before a result
/// run before the caller sees it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", "stdio"] => serve_stdio().await,
        ["server", "http", port] => serve_http(port.parse()?).await,
        ["client", "--play", file, ..] if arguments.len() > 3 => play::play(file, &arguments[3..]).await,
        _ => Err(USAGE.into()),
    }
}

async fn serve_stdio() -> Fallible {
    Features::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

async fn serve_http(port: u16) -> Fallible {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening http://{}/mcp", listener.local_addr()?);
    let service = StreamableHttpService::new(
        || Ok(Features::new()),
        Arc::new(LocalSessionManager::default()),
        Default::default(),
    );
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(stream), service).await });
    }
}
