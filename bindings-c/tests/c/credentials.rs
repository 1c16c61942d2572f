//! A C program's client (`suite_credentials.c`) connects to this server, which issues its tokens
//! too.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::{fs, process, thread};

use serde_json::{Value, json};

use super::{SUITE_C99, TEST_TIMEOUT, TMP, command, finish, told};

const TOKEN: &str = "Bearer issued";

/// The paths of the requests, each with the token that it presents.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A server and its authorization server in one, for as long as the tests run.
fn serve() -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let origin = format!("http://{}", listener.local_addr().expect("it has an address"));
    let (seen, served) = (Seen::default(), origin.clone());
    let noted = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (origin, seen) = (served.clone(), Arc::clone(&noted));
            // A client that goes away meanwhile fails by itself.
            thread::spawn(move || drop(answer(stream, &origin, &seen)));
        }
    });
    (origin, seen)
}

/// One request of a connection, and its response.
fn answer(mut stream: TcpStream, origin: &str, seen: &Seen) -> io::Result<()> {
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: HashMap<String, &str> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().expect("a length is a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = lines[0].split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let presented = headers.get("authorization").filter(|value| value.starts_with("Bearer ")).copied();
    let presented = presented.unwrap_or_default();
    seen.lock().expect("nobody panics with it").push((path.to_owned(), presented.to_owned()));
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let (status, body) = response(method, path, presented, &message, origin);
    let header = match status {
        401 => format!("WWW-Authenticate: Bearer resource_metadata=\"{origin}/metadata\"\r\n"),
        302 => format!("Location: {}\r\n", body.as_str().unwrap_or_default()),
        _ => String::new(),
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    write!(
        stream,
        "HTTP/1.1 {status} -\r\n{header}Content-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The status and the body.
fn response(method: &str, path: &str, presented: &str, message: &Value, origin: &str) -> (u16, Value) {
    let resource = format!("{origin}/mcp");
    match (method, path) {
        ("GET", "/metadata") => (200, json!({"resource": resource, "authorization_servers": [origin]})),
        ("GET", "/.well-known/oauth-authorization-server") => {
            let metadata = json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "registration_endpoint": format!("{origin}/register"),
                "token_endpoint": format!("{origin}/token"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            });
            (200, metadata)
        }
        ("POST", "/register") => (201, json!({"client_id": "registered"})),
        // The user agrees. The values are still encoded.
        ("GET", page) if page.starts_with("/authorize?") => {
            let value = |name: &str| {
                let found = page["/authorize?".len()..].split('&').find_map(|pair| pair.strip_prefix(name));
                found.unwrap_or_default().replace("%3A", ":").replace("%2F", "/")
            };
            (302, json!(format!("{}?code=c&state={}", value("redirect_uri="), value("state="))))
        }
        ("POST", "/token") => (200, json!({"access_token": "issued", "token_type": "Bearer", "expires_in": 3600})),
        (_, "/mcp") if presented != TOKEN => (401, Value::Null),
        ("POST", "/mcp") => {
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "guarded", "version": "1"},
                }),
                Some("tools/list") => json!({"tools": [{"name": "guarded", "inputSchema": {"type": "object"}}]}),
                _ => return (202, Value::Null),
            };
            (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        }
        (_, "/mcp") => (405, Value::Null),
        _ => (404, Value::Null),
    }
}

#[test]
fn a_token_in_a_sqlite_file_is_used_by_the_next_program() {
    let folder = Path::new(TMP).join(format!("credentials-{}", process::id()));
    fs::create_dir_all(&folder).expect("the folder can be made");
    connect_twice(&format!("sqlite:{}", folder.join("tokens.db").display()));
    fs::remove_dir_all(folder).expect("the folder can be removed");
}

// Where `cargo xtask test` can install it.
#[cfg(target_os = "linux")]
#[test]
fn a_token_in_redis_is_used_by_the_next_program() {
    use std::time::{Duration, Instant};

    /// Ends with the test.
    struct Redis(process::Child);

    impl Drop for Redis {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    // Below those that connections get, and not the first that others find free.
    let from = 20_000 + process::id() % 10_000;
    let port = (from..32_000).find(|port| TcpListener::bind(format!("127.0.0.1:{port}")).is_ok());
    let port = port.expect("a port is free").to_string();
    let mut server = process::Command::new("redis-server");
    server.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port]);
    let started = server.stdout(process::Stdio::null()).spawn();
    let _redis = Redis(started.expect("redis-server is needed: `cargo xtask test` installs it on Debian"));
    let (address, begin) = (format!("127.0.0.1:{port}"), Instant::now());
    while TcpStream::connect(&address).is_err() {
        assert!(begin.elapsed() < TEST_TIMEOUT, "redis-server does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    connect_twice(&format!("redis://{address}"));
}

/// The response to a GET.
fn get(url: &str) -> String {
    let (address, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("it is a URL");
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it can be written to");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

/// The program prints the URL of the page; the library listens for the redirect.
#[test]
fn a_program_opens_the_page_of_a_login_itself() {
    let (origin, seen) = serve();
    let mut program = command(&*SUITE_C99);
    program.args(["--log-in", &format!("{origin}/mcp")]).stdin(process::Stdio::null());
    let mut child = program.stdout(process::Stdio::piped()).spawn().expect("the program can be started");
    let mut shown = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("it is a pipe"));
    // Ends with the time of the login at the latest.
    stdout.read_line(&mut shown).expect("the program tells its page");
    let redirect = get(shown.trim_end());
    let location = redirect.lines().find_map(|line| line.strip_prefix("Location: ")).expect("the page redirects");
    assert!(get(location.trim_end()).contains("You can close this page"));
    assert!(child.wait().expect("the program ends").success());
    let seen = seen.lock().expect("nobody panics with it");
    assert!(
        seen.iter().any(|(path, _)| path == "/register") && seen.iter().any(|(path, _)| path == "/token"),
        "{seen:?}"
    );
}

/// A store that a URL names is one for programs that run one after another.
fn connect_twice(store: &str) {
    let (origin, seen) = serve();
    let connect = || {
        let output = finish(command(&*SUITE_C99).args(["--connect-with-credentials", &format!("{origin}/mcp"), store]));
        assert!(output.status.success(), "{}", told(&output));
        std::mem::take(&mut *seen.lock().expect("nobody panics with it"))
    };
    let (first, second) = (connect(), connect());
    let count = |wanted: (&str, &str)| first.iter().filter(|(path, token)| (&**path, &**token) == wanted).count();
    assert_eq!((count(("/mcp", "")), count(("/token", ""))), (1, 1), "{first:?}");
    assert!(!second.is_empty());
    assert!(second.iter().all(|(path, token)| (&**path, &**token) == ("/mcp", TOKEN)), "{second:?}");
}
