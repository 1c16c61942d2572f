// A server mounted in an axum application next to other routes, and a client that calls it.
use axum::{
    Router,
    extract::{ConnectInfo, Request},
    middleware::{self, Next},
    response::Response,
    routing::get,
};
use serde_json::json;
use std::{error::Error, net::SocketAddr, time::Duration};
use tokio::{net::TcpListener, sync::oneshot};
use trunkline::{Client, Server, server::RemoteAddress};

/// Tells the server the caller's address, for rate limits and the access log.
async fn with_address(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(RemoteAddress(peer.ip()));
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("mounted", "1.0.0").tool("hello", "Greets.", async || "Hello from axum").build();
    let service = server.into_service();
    let application = Router::new()
        .route("/", get(|| async { "An ordinary page" }))
        .nest_service("/mcp", service.clone())
        .layer(middleware::from_fn(with_address))
        .into_make_service_with_connect_info::<SocketAddr>();

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    // axum waits for open responses, and clients keep streams open, so the service ends them.
    let shutdown = async move {
        let _ = stopped.await;
        service.close(Duration::from_secs(5)).await;
    };
    let serving =
        tokio::spawn(async move { axum::serve(listener, application).with_graceful_shutdown(shutdown).await });

    let client = Client::connect(format!("http://{address}/mcp")).await?;
    let result = client.call_tool("hello", json!({})).await?;
    println!("{}", result.joined_text());
    client.close().await;
    let _ = stop.send(());
    serving.await??;
    Ok(())
}
