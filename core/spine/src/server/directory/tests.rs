//! Folders with content that must not be exposed.

use crate::{
    protocol::Revision,
    server::{
        DirectoryDefinition, Server, ServerOptions,
        tests::{Peer, server},
    },
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder that is deleted on drop.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("trunkline-directory-{}-{number}", std::process::id()));
        for (path, bytes) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self(folder)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn of(uri: &str, path: impl AsRef<Path>) -> Server {
    let options = ServerOptions::default().with_page_size(2);
    server().options(options).add_directory(DirectoryDefinition::new(uri, path.as_ref()).max_file_bytes(10)).build()
}

async fn peer(server: &Server) -> Peer {
    Peer::of(server).in_session(Revision::V2025_11_25, json!({})).await
}

async fn read(peer: &Peer, uri: &str) -> Value {
    peer.ask("resources/read", json!({"uri": uri})).await
}

/// The resources of all pages.
async fn listed(peer: &Peer) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
        let mut page = peer.ask("resources/list", params).await["result"].take();
        let resources = page["resources"].as_array().unwrap();
        assert!(resources.len() <= 2, "{page}");
        all.extend(resources.iter().cloned());
        cursor = page.get_mut("nextCursor").map(Value::take);
        if cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn res_02_res_11_res_15_and_pag_05_files_are_resources_page_by_page() {
    let folder = TestFolder::new(&[
        ("root/b.md", b"# B"),
        ("root/a/z.txt", b"z"),
        ("root/a/b c.bin", b"\xff\0"),
        ("root/c.json", b"{}"),
        ("root/large", b"12345678901"),
        ("root/.hidden", b"x"),
        ("root/.git/config", b"x"),
    ]);
    let server = of("docs://", folder.at("root"));
    let peer = peer(&server).await;
    let all = listed(&peer).await;
    let uris: Vec<_> = all.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["docs://a/b%20c.bin", "docs://a/z.txt", "docs://b.md", "docs://c.json", "docs://large"]);
    assert_eq!(all[2], json!({"uri": "docs://b.md", "name": "b.md", "mimeType": "text/markdown", "size": 3}));
    for (uri, contents) in [
        ("docs://b.md", json!({"uri": "docs://b.md", "mimeType": "text/markdown", "text": "# B"})),
        ("docs://a/z.txt", json!({"uri": "docs://a/z.txt", "mimeType": "text/plain", "text": "z"})),
        (
            "docs://a/b%20c.bin",
            json!({"uri": "docs://a/b%20c.bin", "mimeType": "application/octet-stream", "blob": "/wA="}),
        ),
    ] {
        assert_eq!(read(&peer, uri).await["result"]["contents"][0], contents);
    }
    let large = read(&peer, "docs://large").await["error"].take();
    assert!(large["message"].as_str().unwrap().contains("larger than the limit of 10 bytes"), "{large}");
    // Reads see the current contents.
    fs::write(folder.at("root/b.md"), "new").unwrap();
    fs::remove_file(folder.at("root/c.json")).unwrap();
    assert_eq!(read(&peer, "docs://b.md").await["result"]["contents"][0]["text"], "new");
    assert_eq!(read(&peer, "docs://c.json").await["error"]["code"], -32002);
    assert_eq!(listed(&peer).await.len(), 4);
}

#[tokio::test]
async fn res_12_res_13_nothing_outside_of_the_folder_is_read() {
    let folder = TestFolder::new(&[("secret.txt", b"secret"), ("root/in.txt", b"in"), ("root/.env", b"key")]);
    let server = of("docs://files", folder.at("root"));
    let peer = peer(&server).await;
    let absolute = folder.at("secret.txt").display().to_string().replace('/', "%2F");
    for path in [
        "../secret.txt",
        "..%2Fsecret.txt",
        "%2e%2e/secret.txt",
        "%2E%2E%2Fsecret.txt",
        "a/../../secret.txt",
        "..%5Csecret.txt",
        &absolute,
        &format!("/{absolute}"),
        ".env",
        "%2Eenv",
        "in.txt%00",
        "in.txt/",
        "./in.txt",
        "/in.txt",
        "",
        "%FF",
        "nothing",
    ] {
        let answer = read(&peer, &format!("docs://files/{path}")).await;
        assert!(answer["error"].is_object(), "{path}: {answer}");
    }
    assert!(read(&peer, "docs://filesin.txt").await["error"].is_object());
    assert_eq!(read(&peer, "docs://files/in.txt").await["result"]["contents"][0]["text"], "in");
    let open = DirectoryDefinition::new("open://", folder.at("root")).hidden(true);
    server.add_directory(open).unwrap();
    assert_eq!(read(&peer, "open://.env").await["result"]["contents"][0]["text"], "key");
    for (uri, path, says) in
        [("docs", "root", "scheme"), ("x://", "nothing", "nothing"), ("x://", "secret.txt", "path")]
    {
        let error = server.add_directory(DirectoryDefinition::new(uri, folder.at(path))).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn res_12_links_and_pipes_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let folder = TestFolder::new(&[("secret.txt", b"secret"), ("root/in.txt", b"in"), ("root/.env", b"key")]);
    symlink(folder.at("secret.txt"), folder.at("root/out")).unwrap();
    symlink("..", folder.at("root/up")).unwrap();
    symlink(".env", folder.at("root/env")).unwrap();
    symlink(".", folder.at("root/loop")).unwrap();
    symlink("in.txt", folder.at("root/same")).unwrap();
    std::os::unix::net::UnixListener::bind(folder.at("root/socket")).unwrap();
    let server = of("docs://", folder.at("root"));
    let peer = peer(&server).await;
    let names: Vec<_> = listed(&peer).await.iter().map(|resource| resource["name"].clone()).collect();
    assert_eq!(names, ["in.txt", "same"]);
    for path in ["out", "up/secret.txt", "env", "socket", "loop"] {
        assert_eq!(read(&peer, &format!("docs://{path}")).await["error"]["code"], -32002, "{path}");
    }
    assert_eq!(read(&peer, "docs://same").await["result"]["contents"][0]["text"], "in");
}

/// Reads two files until their content was read for a while, on a thread of its own. Returns their
/// texts, and null for what was not found.
#[cfg(target_os = "linux")]
fn read_for_a_while(folder: super::Folder) -> std::sync::mpsc::Receiver<Value> {
    use super::Outcome;
    use std::{
        sync::mpsc,
        thread,
        time::{Duration, Instant},
    };
    let (answers, answer) = mpsc::channel();
    thread::spawn(move || {
        let path = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let begin = Instant::now();
        let mut is_read = false;
        // Longer if other processes leave no time to read anything.
        while begin.elapsed() < Duration::from_millis(if is_read { 400 } else { 10_000 }) {
            for asked in ["rd/a", "file"] {
                let read = match folder.read("x:", &path(asked)) {
                    Outcome::Content(contents) => {
                        is_read = true;
                        contents.parse::<Value>().unwrap()["text"].take()
                    }
                    Outcome::NotFound => Value::Null,
                    _ => "an error".into(),
                };
                answers.send(read).unwrap();
            }
            for file in folder.files_after(&[], 10) {
                assert_ne!(file.encoded_path(), "rd/hidden");
            }
        }
    });
    answer
}

/// Another process replaces a folder with a link that leads out, and a file with a pipe, during
/// reads.
#[cfg(target_os = "linux")]
#[test]
fn res_12_what_is_exchanged_between_check_and_opening_is_not_read() {
    use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
    use std::{
        os::unix::fs::symlink,
        sync::{Arc, atomic::AtomicBool, mpsc},
        thread,
        time::Duration,
    };
    let files =
        TestFolder::new(&[("out/a", b"secret"), ("out/hidden", b""), ("root/rd/a", b"in"), ("root/file", b"in")]);
    symlink(files.at("out"), files.at("link")).unwrap();
    mknodat(CWD, files.at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let folder = super::Folder::open(&files.at("root"), false, 10).unwrap();
    let over = Arc::<AtomicBool>::default();
    let exchange = |one: PathBuf, other: PathBuf| {
        let over = Arc::clone(&over);
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        })
    };
    let exchanging =
        [exchange(files.at("root/rd"), files.at("link")), exchange(files.at("root/file"), files.at("pipe"))];
    let answer = read_for_a_while(folder);
    let mut in_folder = 0;
    loop {
        match answer.recv_timeout(Duration::from_secs(20)) {
            Ok(Value::Null) => {}
            Ok(text) => {
                assert_eq!(text, "in");
                in_folder += 1;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("a read blocks its thread"),
        }
    }
    over.store(true, Ordering::Relaxed);
    exchanging.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(in_folder > 0, "it reads what is there");
}
