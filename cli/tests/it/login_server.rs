//! A server that asks for a login, its authorization server, and a browser whose user agrees.

use crate::program::{DEADLINE, Folder, command};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::Command,
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

/// A request: the path, the query or the form, and the bearer token.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) parameters: String,
    pub(crate) token: String,
}

#[derive(Default)]
pub(crate) struct Habits {
    pub(crate) seen: Vec<Asked>,
    /// Tokens that count.
    pub(crate) valid: Vec<String>,
    issued: usize,
    /// How often a device code is pending before the user agrees.
    pub(crate) pending: usize,
    /// True if there is no endpoint for device codes.
    pub(crate) has_no_codes: bool,
    /// True if the user refuses.
    pub(crate) refuses: bool,
    /// The method for which the first token is not enough.
    pub(crate) steps_up: Option<&'static str>,
    /// True if the server speaks 2026-07-28 as well.
    pub(crate) is_modern: bool,
}

/// Both servers in one; they serve until the test ends.
pub(crate) struct LoginServer {
    pub(crate) origin: String,
    habits: Arc<Mutex<Habits>>,
}

impl LoginServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { origin, habits: Arc::default() };
        let (origin, habits) = (server.origin.clone(), Arc::clone(&server.habits));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (origin, habits) = (origin.clone(), Arc::clone(&habits));
                thread::spawn(move || serve(stream, &origin, &habits));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(crate) fn habits(&self) -> MutexGuard<'_, Habits> {
        self.habits.lock().unwrap()
    }

    /// The requests to a path.
    pub(crate) fn seen(&self, path: &str) -> Vec<Asked> {
        self.habits().seen.iter().filter(|asked| asked.path == path).cloned().collect()
    }
}

fn serve(stream: TcpStream, origin: &str, habits: &Mutex<Habits>) {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut reader = BufReader::new(&stream);
    while let Some((target, token, body)) = request(&mut reader) {
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let is_form = matches!(path, "/token" | "/revoke" | "/device");
        let parameters = if is_form { String::from_utf8_lossy(&body).into_owned() } else { query.to_owned() };
        let asked = Asked { path: path.to_owned(), parameters, token };
        let (head, answer) = answer(&asked, &body, origin, &mut habits.lock().unwrap());
        let length = answer.len();
        let text =
            format!("HTTP/1.1 {head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{answer}");
        if (&stream).write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request: its target, its token and its body.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut token) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => token = value.trim().trim_start_matches("Bearer ").to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((target, token, body))
}

/// The status with more headers, and the body.
fn answer(asked: &Asked, body: &[u8], origin: &str, habits: &mut Habits) -> (String, String) {
    habits.seen.push(asked.clone());
    let ok = |value: Value| ("200 OK".to_owned(), value.to_string());
    let bad = |code: &str| ("400 Bad Request".to_owned(), json!({"error": code}).to_string());
    match &*asked.path {
        "/.well-known/oauth-protected-resource/mcp" => {
            ok(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
        }
        "/.well-known/oauth-authorization-server" => ok(json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "device_authorization_endpoint": (!habits.has_no_codes).then(|| format!("{origin}/device")),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        })),
        "/register" => ("201 Created".to_owned(), json!({"client_id": "registered"}).to_string()),
        "/authorize" => {
            let value = |name: &str| {
                let given = asked.parameters.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
                given.unwrap_or_default().to_owned()
            };
            let redirect = value("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            let outcome = if habits.refuses { "error=access_denied" } else { "code=the-code" };
            (format!("302 Found\r\nLocation: {redirect}?{outcome}&state={}", value("state")), String::new())
        }
        "/device" => ok(json!({"device_code": "d", "user_code": "WDJB-MJHT", "interval": 0, "expires_in": 600,
            "verification_uri": format!("{origin}/activate")})),
        "/token" if asked.parameters.contains("device_code=") && habits.pending > 0 => {
            habits.pending -= 1;
            bad("authorization_pending")
        }
        "/token" => {
            habits.issued += 1;
            let token = format!("token-{}", habits.issued);
            habits.valid.push(token.clone());
            ok(json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r"}))
        }
        "/revoke" => {
            habits.valid.retain(|token| !asked.parameters.contains(&format!("token={token}&")));
            ("200 OK".to_owned(), String::new())
        }
        "/mcp" => {
            let message: Value = serde_json::from_slice(body).unwrap_or_default();
            let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"");
            let is_enough =
                habits.steps_up.is_none_or(|method| asked.token != "token-1" || message["method"] != method);
            match habits.valid.contains(&asked.token) {
                true if is_enough => mcp(&message, habits.is_modern),
                true => {
                    let more = "error=\"insufficient_scope\", scope=\"look\"";
                    (format!("403 Forbidden\r\n{challenge}, {more}"), String::new())
                }
                false => (format!("401 Unauthorized\r\n{challenge}"), String::new()),
            }
        }
        _ => ("404 Not Found".to_owned(), String::new()),
    }
}

fn mcp(message: &Value, is_modern: bool) -> (String, String) {
    let is_of_modern = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
    let mut result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" if is_modern => json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "closed", "version": "1.0.0"}}}),
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "closed", "version": "1.0.0"}}),
        "tools/list" => json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "seen"}]}),
        "ping" => json!({}),
        "" => return ("405 Method Not Allowed".to_owned(), String::new()),
        _ if message["id"].is_null() => return ("202 Accepted".to_owned(), String::new()),
        method => {
            let error = json!({"code": -32601, "message": format!("no method {method}")});
            return ("200 OK".to_owned(), json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string());
        }
    };
    if is_of_modern {
        for (name, value) in [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
        {
            result[name] = value;
        }
    }
    ("200 OK".to_owned(), json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}

/// A home folder, and a browser that notes each page it is to open.
pub(crate) struct Desk {
    pub(crate) home: Folder,
    has_browser: bool,
}

const PAGES: &str = "pages";

impl Desk {
    /// With a browser whose user agrees at once.
    pub(crate) fn new() -> Self {
        let desk = Self { home: Folder::new(), has_browser: true };
        let role = "exec \"$TRUNKLINE_TEST_PROGRAM\" bridge::plays_a_role --exact --nocapture --test-threads=1";
        desk.browser(&format!("TRUNKLINE_TEST_ROLE=browser TRUNKLINE_TEST_PAGE=\"$1\" {role}"));
        desk
    }

    /// With a browser at which nobody sits.
    pub(crate) fn unattended() -> Self {
        let desk = Self { home: Folder::new(), has_browser: true };
        desk.browser("true");
        desk
    }

    /// Without a browser.
    pub(crate) fn without_browser() -> Self {
        Self { home: Folder::new(), has_browser: false }
    }

    fn browser(&self, then: &str) {
        for name in ["xdg-open", "open"] {
            let pages = self.home.path.join(PAGES);
            let script = format!("#!/bin/sh\necho \"$1\" >> '{}'\n{then}\n", pages.display());
            let path = self.home.write(&format!("bin/{name}"), &script);
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    /// The program, at this desk.
    pub(crate) fn trunkline(&self, words: &[&str]) -> Command {
        let mut command = command(&self.home.path);
        let before = env::var_os("PATH").unwrap_or_default();
        let folders = [self.home.path.join("bin")].into_iter().chain(env::split_paths(&before));
        command
            .env("PATH", env::join_paths(folders).unwrap())
            .env("TRUNKLINE_TEST_PROGRAM", env::current_exe().unwrap());
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"] {
            command.env_remove(name);
        }
        command.env_remove("SSH_CONNECTION");
        match self.has_browser {
            true => command.env("DISPLAY", ":0"),
            false => command.env("SSH_CONNECTION", "elsewhere"),
        };
        command.args(words);
        command
    }

    /// The pages that were opened.
    pub(crate) fn pages(&self) -> Vec<String> {
        let text = fs::read_to_string(self.home.path.join(PAGES)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The files with tokens.
    pub(crate) fn stored(&self) -> Vec<(String, String)> {
        let linux = self.home.path.join(".config/trunkline/tokens");
        let apple = self.home.path.join("Library/Application Support/trunkline/tokens");
        let folder = if linux.is_dir() { linux } else { apple };
        let files = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let text = |path: &std::path::PathBuf| fs::read_to_string(path).unwrap_or_default();
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), text(&path))).collect()
    }
}

/// Visits a page, and the page that it redirects to.
pub(crate) fn visit(page: &str) {
    let head = get(page);
    let location = head.lines().find_map(|line| line.strip_prefix("Location: "));
    get(location.expect("the page redirects"));
}

/// The head of the response.
pub(crate) fn get(url: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let (mut head, mut reader) = (String::new(), BufReader::new(stream));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            return head;
        }
        head += line.trim_end();
        head.push('\n');
    }
}
