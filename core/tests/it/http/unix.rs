//! Servers on Unix sockets.

use super::support::*;
use serde_json::json;
use std::{
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};
use trunkline::{
    client::Client,
    server::ServerOptions,
    transport::{HttpOptions, Listener},
};

/// A directory of this test's own.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("trunkline-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("it.sock")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn listen(path: &Path) -> std::io::Result<Listener> {
    let (server, _) = server(ServerOptions::default());
    server.listen_unix(path).await
}

#[tokio::test]
async fn sec_20_a_socket_is_for_its_user_and_goes_with_its_listener() {
    let directory = Directory::new();
    let path = directory.socket();
    let listener = listen(&path).await.unwrap();
    let found = std::fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    assert_eq!(listener.url().unwrap(), format!("unix:{}:/mcp", path.display()));

    // Under any name of the host: no page and no name leads here.
    let mut socket = UnixStream::connect(&path).await.unwrap();
    let body = initialize("2025-11-25").to_string();
    let head = "POST /mcp HTTP/1.1\r\nHost: any\r\nContent-Type: application/json\r\nConnection: close\r\n";
    socket.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    assert_eq!(Answer::parse(&answer).json()["result"]["protocolVersion"], "2025-11-25");

    listener.close(TEST_TIMEOUT).await;
    assert!(!path.exists());
    let (server, _) = server(ServerOptions::default());
    let options = HttpOptions::default().with_unix(path.clone()).with_unix_mode(0o660);
    let listener = server.listen_with(options).await.unwrap();
    assert_eq!(std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    listener.close(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn what_a_dead_server_left_is_replaced_and_nothing_else() {
    let directory = Directory::new();
    let path = directory.socket();
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let listener = listen(&path).await.unwrap();
    let error = listen(&path).await.err().unwrap();
    assert!(error.to_string().contains("another server") && error.to_string().contains("it.sock"), "{error}");
    UnixStream::connect(&path).await.unwrap();

    // A file that another server has put there meanwhile is not removed.
    std::fs::remove_file(&path).unwrap();
    let successor = listen(&path).await.unwrap();
    listener.close(TEST_TIMEOUT).await;
    UnixStream::connect(&path).await.unwrap();
    successor.close(TEST_TIMEOUT).await;
    assert!(!path.exists());

    std::fs::write(&path, "precious").unwrap();
    let error = listen(&path).await.err().unwrap();
    assert!(error.to_string().contains("not a socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let error = listen(&directory.0.join("no/such/it.sock")).await.err().unwrap();
    assert!(error.to_string().contains("no/such/it.sock"), "{error}");
    let error = listen(&directory.0.join("x".repeat(200))).await.err().unwrap();
    assert!(error.to_string().contains("xxx"), "{error}");
}

#[tokio::test]
async fn clients_connect_by_the_path() {
    let directory = Directory::new();
    let path = directory.socket();
    let (server, _) = server(ServerOptions::default());
    let options = HttpOptions::default().with_unix(path.clone()).with_path("/other");
    let listener = server.listen_with(options).await.unwrap();
    let client = Client::connect(listener.url().unwrap()).await.unwrap();
    let result = client.call_tool("echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap()["content"][0]["text"], "hi");
    client.close().await;
    listener.close(TEST_TIMEOUT).await;
    let error = Client::connect(format!("unix:{}", path.display())).await.err().unwrap();
    assert!(error.to_string().contains("it.sock"), "{error}");
}
