//! Bytes of a connection: whatever arrives, the listener answers or closes it, and keeps running.

use super::endpoint::{INITIALIZE, finish, server};
use std::{net::SocketAddr, sync::LazyLock};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use trunkline::{HttpOptions, Listener};

static LISTENER: LazyLock<(Listener, SocketAddr)> = LazyLock::new(|| {
    let listener = finish(server().listen_with(HttpOptions::default().with_port(0))).expect("no listener");
    let url = listener.url().expect("no URL");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").parse().expect("no address");
    (listener, address)
});

pub fn seeds() -> Vec<Vec<u8>> {
    let length = INITIALIZE.len();
    let head = "Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let texts = [
        format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{INITIALIZE}"),
        format!(
            "POST /mcp HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{INITIALIZE}\r\n0\r\n\r\n"
        ),
        format!("GET /mcp HTTP/1.1\r\n{head}Mcp-Session-Id: none\r\nLast-Event-ID: 1-2\r\n\r\n"),
        format!("DELETE /mcp HTTP/1.1\r\n{head}Mcp-Session-Id: none\r\nOrigin: http://evil.example\r\n\r\n"),
        format!("OPTIONS /mcp HTTP/1.1\r\n{head}Access-Control-Request-Method: POST\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0".to_owned(),
    ];
    texts.map(String::into_bytes).to_vec()
}

pub fn judge(data: &[u8]) {
    // Before entering the runtime, because starting a listener enters it, too.
    let address = LISTENER.1;
    let answer = finish(async {
        let mut stream = TcpStream::connect(address).await.expect("the listener is gone");
        // The listener may close the connection before it has read everything.
        let _ = stream.write_all(data).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        answer
    });
    if let Some(status) = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.first()) {
        assert!(b"1234".contains(status), "{}", String::from_utf8_lossy(&answer));
    }
}
