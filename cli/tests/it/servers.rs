//! Servers to run the program against: the fixture server, servers of the test itself, and things
//! that are no servers.

use crate::program::DEADLINE;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Once,
    thread,
};
use trunkline::Server;

/// The fixture server. xtask has built it; otherwise it is built here.
pub(crate) fn fixture() -> String {
    built("fixture-server", &["--package", "fixture-rust", "--bin", "fixture-server"])
}

fn built(name: &str, arguments: &[&str]) -> String {
    static BUILT: Once = Once::new();
    let folder = Path::new(env!("CARGO_BIN_EXE_trunkline")).parent().unwrap();
    let path: PathBuf = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    BUILT.call_once(|| {
        if std::env::var_os("TRUNKLINE_PREBUILT").is_none() {
            let mut cargo = Command::new(env!("CARGO"));
            let built = cargo.arg("build").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
            assert!(built.success());
        }
    });
    path.to_str().unwrap().to_owned()
}

/// The fixture server over HTTP, killed with its value.
pub(crate) struct OverHttp {
    pub(crate) url: String,
    child: Child,
}

impl OverHttp {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(fixture());
        let mut child = command.args(["--http", "0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening ").unwrap().to_owned();
        Self { url, child }
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves a server of this process over HTTP until the test ends, and returns its URL.
pub(crate) fn serve(server: Server) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = server.listen("127.0.0.1:0").await.unwrap();
            sender.send(listener.url().unwrap().to_string()).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv_timeout(DEADLINE).unwrap()
}

/// Answers every HTTP request with this status, type and body, and returns the URL.
pub(crate) fn answering(status: &'static str, headers: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.set_read_timeout(Some(DEADLINE));
                let mut request = [0; 64 * 1024];
                let _ = stream.read(&mut request);
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    url
}

/// A URL where nothing listens. A port that was free a moment ago may belong to another test.
pub(crate) fn dead() -> String {
    "http://127.0.0.1:1/mcp".to_owned()
}

/// The URL of a port where everyone can connect, and nobody answers.
pub(crate) fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        let _open: Vec<_> = listener.incoming().collect();
    });
    url
}
