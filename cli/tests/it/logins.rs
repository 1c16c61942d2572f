//! `trunkline login`, `logout` and `token`, and the login of other commands: the real program, at a
//! real authorization server, with a browser whose user agrees.

use crate::{
    bridge::free_port,
    login_server::{Desk, LoginServer},
    program::{Ran, ran},
    roles::until,
};
use md5::Digest as _;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

fn run(desk: &Desk, words: &[&str]) -> Ran {
    ran(&mut desk.trunkline(words))
}

/// A bridge as its host sees it.
struct Bridge(Child);

impl Bridge {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bridge = Self(command.spawn().unwrap());
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"},
        }});
        writeln!(bridge.0.stdin.as_mut().unwrap(), "{message}").unwrap();
        bridge
    }

    /// The answer to `initialize`.
    fn answer(&mut self) -> Value {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_login_serves_the_next_commands_until_the_logout() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let url = &*server.url();
    assert!(run(&desk, &["list", url]).failed(3).contains(&format!("trunkline login {url}")));
    assert!(server.seen("/register").is_empty() && desk.pages().is_empty(), "a script registered a client");
    let login = run(&desk, &["login", url]).done();
    assert!(login.stdout.starts_with("logged in at closed 1.0.0"), "{login:?}");
    assert_eq!(desk.pages().len(), 1);
    let called = run(&desk, &["call", url, "look"]).done();
    assert_eq!(called.stdout, "seen\n");
    let token = run(&desk, &["token", url]).done();
    assert_eq!((&*token.stdout, &*token.stderr), ("token-1\n", ""));
    assert_eq!(run(&desk, &["token", url, "--json"]).done().json(), json!({"accessToken": "token-1"}));
    // A refused token is renewed.
    server.habits().valid.clear();
    assert_eq!(run(&desk, &["token", url]).done().stdout, "token-2\n");
    let logout = run(&desk, &["logout", url]).done();
    assert_eq!(logout.stdout, format!("logged out of {url}\n"));
    let revoked: Vec<_> = server.seen("/revoke").into_iter().map(|asked| asked.parameters).collect();
    assert!(revoked.len() == 2 && revoked[1].contains("token=token-2"), "{revoked:?}");
    let left: Vec<_> = desk.stored().into_iter().filter(|(name, _)| name.ends_with(".json")).collect();
    assert!(left.is_empty(), "{left:?}");
    run(&desk, &["token", url]).failed(3);
    assert_eq!(desk.pages().len(), 1);
}

#[test]
fn r1_tokens_are_there_for_every_version_of_the_program() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    run(&desk, &["login", &server.url()]).done();
    // The files have the names and the members that the first version gave them, and no version.
    let stored: Vec<_> = desk.stored().into_iter().filter(|(name, _)| name.ends_with(".json")).collect();
    assert_eq!(stored.len(), 3, "{stored:?}");
    for (name, text) in &stored {
        assert!(
            !name.contains(env!("CARGO_PKG_VERSION")) && !text.contains(env!("CARGO_PKG_VERSION")),
            "{name}: {text}"
        );
    }
    // A version that knows more members leaves them to this one, which reads what it knows.
    let folder =
        [".config", "Library/Application Support"].map(|name| desk.home.path.join(name).join("trunkline/tokens"));
    let folder = folder.into_iter().find(|folder| folder.is_dir()).unwrap();
    for (name, text) in &stored {
        let mut value: Value = serde_json::from_str(text).unwrap();
        value["of_a_later_version"] = json!({"a": 1});
        fs::write(folder.join(name), value.to_string()).unwrap();
    }
    assert_eq!(run(&desk, &["token", &server.url()]).done().stdout, "token-1\n");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join(&stored[0].0))), (0o700, 0o600));
}

#[test]
fn r2_five_bridges_that_start_at_once_open_one_browser_and_work() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let mut bridges: Vec<_> = (0..5).map(|_| Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]))).collect();
    for bridge in &mut bridges {
        let answer = bridge.answer();
        assert_eq!(answer["result"]["serverInfo"]["name"], "closed", "{answer}");
    }
    assert_eq!(desk.pages().len(), 1, "{:?}", desk.pages());
}

#[test]
fn r5_a_taken_port_is_one_error_and_no_page() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let port = free_port();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let port = port.to_string();
    let ran = run(&desk, &["login", "--callback-port", &port, &server.url()]);
    let text = ran.failed(3);
    assert!(text.contains(&format!("127.0.0.1:{port}/callback")), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("error: ")).count(), 1);
    assert!(desk.pages().is_empty());
    drop(taken);
    run(&desk, &["login", "--callback-port", &port, &server.url()]).done();
    assert_eq!(desk.pages().len(), 1);
}

#[test]
fn r5_without_a_fixed_port_the_next_free_one_is_taken() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    run(&desk, &["login", &server.url()]).done();
    let port_of =
        |page: &str| page.split("127.0.0.1%3A").nth(1).unwrap().split('%').next().unwrap().parse::<u16>().unwrap();
    // The port of the registration belongs to another program now, if not already.
    let _taken = TcpListener::bind(("127.0.0.1", port_of(&desk.pages()[0])));
    server.habits().valid.clear();
    let tokens = desk.stored().into_iter().find(|(_, text)| text.contains("access_token")).unwrap().0;
    for folder in [".config", "Library/Application Support"] {
        let _ = fs::remove_file(desk.home.path.join(folder).join("trunkline/tokens").join(&tokens));
    }
    run(&desk, &["login", &server.url()]).done();
    assert_eq!(desk.pages().len(), 2);
}

#[test]
fn r7_killed_at_any_moment_of_a_login_the_store_is_intact_and_the_next_start_works() {
    let moments = if std::env::var_os("TRUNKLINE_LONG").is_some() { 50 } else { 10_u64 };
    for moment in 0..moments {
        let (server, desk) = (LoginServer::start(), Desk::new());
        let mut first = Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]));
        thread::sleep(Duration::from_millis(moment * 200 / moments));
        first.0.kill().unwrap();
        first.0.wait().unwrap();
        for (name, text) in desk.stored().into_iter().filter(|(name, _)| name.ends_with(".json")) {
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{name} at moment {moment}: {text:?}");
        }
        let mut second = Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]));
        let answer = second.answer();
        assert_eq!(answer["result"]["serverInfo"]["name"], "closed", "moment {moment}: {answer}");
    }
}

#[test]
fn r7_a_login_that_was_killed_while_the_user_was_away_is_taken_over() {
    let (server, desk) = (LoginServer::start(), Desk::unattended());
    let mut first = Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]));
    until(|| !desk.pages().is_empty());
    let second = Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]));
    first.0.kill().unwrap();
    first.0.wait().unwrap();
    until(|| desk.pages().len() == 2);
    drop(second);
}

#[test]
fn r19_without_a_terminal_and_a_browser_the_login_ends_and_says_what_to_do() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let ran = run(&desk, &["login", &server.url()]);
    let text = ran.failed(3);
    assert!(text.contains("Could not open a browser") && text.contains("--device-code"), "{text}");
}

#[test]
fn r19_a_bridge_without_a_browser_tells_its_host_what_to_run() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let mut bridge = Bridge::start(&mut desk.trunkline(&["bridge", &server.url()]));
    let answer = bridge.answer();
    let said = answer["error"]["message"].as_str().unwrap_or_default();
    let command = format!("trunkline login {}", server.url());
    assert!(said.contains("Could not open a browser") && said.contains(&command), "{answer}");
}

#[test]
fn a_server_without_device_codes_is_told_from_one_with_them() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    server.habits().has_no_codes = true;
    let ran = run(&desk, &["login", "--device-code", &server.url()]);
    let text = ran.failed(3);
    assert!(text.contains("ssh -L 8912:127.0.0.1:8912") && !text.contains("--device-code works"), "{text}");
}

#[test]
fn the_page_is_printed_where_no_browser_shall_open() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let mut command = desk.trunkline(&["login", "--no-browser", &server.url()]);
    let mut login = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(login.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let page = line.trim().strip_prefix("log in at ").unwrap_or_else(|| panic!("{line:?}"));
    crate::login_server::visit(page);
    assert!(login.wait().unwrap().success());
    assert!(desk.pages().is_empty());
}

#[test]
fn a_code_serves_where_there_is_no_browser() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    server.habits().pending = 2;
    let ran = run(&desk, &["login", "--device-code", &server.url()]).done();
    assert!(ran.stderr.contains(&format!("log in at {}/activate", server.origin)), "{ran:?}");
    assert!(ran.stderr.contains("WDJB-MJHT") && ran.stdout.starts_with("logged in at"), "{ran:?}");
    assert_eq!(run(&desk, &["call", &server.url(), "look"]).done().stdout, "seen\n");
}

#[test]
fn a_client_logs_in_for_itself() {
    let (server, desk) = (LoginServer::start(), Desk::without_browser());
    let flags = ["--client-credentials", "--client-id", "c", "--client-secret-env", "SECRET"];
    let url = server.url();
    let words = [&["token"][..], &flags, &[&*url]].concat();
    let ran = ran(desk.trunkline(&words).env("SECRET", "s3cret")).done();
    assert_eq!(ran.stdout, "token-1\n");
    assert!(server.seen("/authorize").is_empty() && server.seen("/token")[0].parameters.contains("client_credentials"));
    let missing = run(&desk, &words);
    assert!(missing.failed(2).contains("the variable SECRET is not set"), "{missing:?}");
}

#[test]
fn r20_a_trace_shows_each_step_beside_its_text_and_no_secret() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let ran = run(&desk, &["login", "--trace", &server.url()]).done();
    for step in [
        format!("401 POST {}  (RFC 9728 section 5.1)\n", server.url()),
        format!("      resource_metadata = {}/.well-known/oauth-protected-resource/mcp\n", server.origin),
        format!("200 GET {}/.well-known/oauth-authorization-server  (RFC 8414 section 3.2)\n", server.origin),
        format!("201 POST {}/register  (RFC 7591 section 3.2.1)\n", server.origin),
        format!("web GET {}/authorize  (RFC 7636 section 4.3, RFC 8707 section 2)\n", server.origin),
        "      code_challenge_method = S256\n".to_owned(),
        "      state = as sent\n".to_owned(),
        format!("200 POST {}/token  (RFC 6749 section 5.1)\n", server.origin),
    ] {
        assert!(ran.stderr.contains(&step), "{step:?} is missing in\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("token-1") && !ran.stderr.contains("the-code"), "{}", ran.stderr);
}

#[test]
fn the_parameter_resource_is_left_out_without_further_flags() {
    for words in [&["login", "--resource", "none"][..], &["bridge", "--disable-resource-parameter"]] {
        let (server, desk) = (LoginServer::start(), Desk::new());
        let mut command = desk.trunkline(words);
        let mut bridge = Bridge::start(command.arg(server.url()));
        until(|| !server.seen("/token").is_empty());
        if words[0] == "bridge" {
            assert_eq!(bridge.answer()["result"]["serverInfo"]["name"], "closed");
        }
        let asked = [server.seen("/authorize"), server.seen("/token")].concat();
        assert!(asked.iter().all(|asked| !asked.parameters.contains("resource=")), "{asked:?}");
    }
}

#[test]
fn a_user_who_refuses_is_told_so() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    server.habits().refuses = true;
    assert!(run(&desk, &["login", &server.url()]).failed(3).contains("access_denied"));
    assert_eq!(desk.pages().len(), 1);
    let ran = run(&desk, &["login", "--", "server"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = run(&desk, &["login", "--auth", "none", &server.url()]);
    assert!(ran.failed(2).contains("--auth none"), "{ran:?}");
}

#[test]
fn a_session_of_a_script_uses_the_login_that_exists_and_asks_for_no_other() {
    let (server, desk) = (LoginServer::start(), Desk::new());
    let url = &*server.url();
    let run = |words: &[&str]| ran(desk.trunkline(words).env("XDG_RUNTIME_DIR", desk.home.path.join("run")));
    assert!(run(&["connect", url, "@one"]).failed(3).contains("trunkline login"));
    assert!(desk.pages().is_empty() && server.seen("/register").is_empty(), "{:?}", desk.pages());
    run(&["login", url]).done();
    run(&["connect", url, "@one"]).done();
    assert_eq!(run(&["call", "-q", "@one", "look"]).done().stdout, "seen\n");
    run(&["close", "@one"]).done();
    run(&["logout", url]).done();
    let client = ["--client-credentials", "--client-id", "c", "--client-secret-env", "SECRET"];
    let mut connect = desk.trunkline(&[&["connect", url, "@one"][..], &client].concat());
    ran(connect.env("XDG_RUNTIME_DIR", desk.home.path.join("run")).env("SECRET", "s3cret")).done();
    run(&["close", "@one"]).done();
    assert_eq!(desk.pages().len(), 1);
}

/// Keeps a login as mcp-remote does, and returns the names of its files.
fn keep_login(desk: &Desk, folder: &str, url: &str, tokens: &Value) -> Vec<String> {
    let hash: String = md5::Md5::digest(url).iter().map(|byte| format!("{byte:02x}")).collect();
    let client = json!({"client_id": "theirs", "redirect_uris": ["http://localhost:3334/oauth/callback"]});
    let files = [("client_info.json", &client), ("tokens.json", tokens)];
    files.map(|(name, value)| desk.home.write(&format!(".mcp-auth/{folder}/{hash}_{name}"), &value.to_string())).into()
}

#[test]
fn a_bridge_takes_over_the_login_of_mcp_remote_once() {
    for (folder, tokens) in [
        ("mcp-remote-v1", json!({"access_token": "old", "token_type": "bearer", "expires_at": 4_000_000_000_000_u64})),
        ("mcp-remote-0.1.38", json!({"access_token": "old", "token_type": "bearer", "expires_in": 3600})),
    ] {
        let (server, desk) = (LoginServer::start(), Desk::new());
        let url = &*server.url();
        server.habits().valid.push("old".to_owned());
        let kept = keep_login(&desk, folder, url, &tokens);
        let before = kept.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
        let mut bridge = Bridge::start(&mut desk.trunkline(&["bridge", url]));
        assert_eq!(bridge.answer()["result"]["serverInfo"]["name"], "closed");
        drop(bridge);
        assert!(desk.pages().is_empty() && server.seen("/register").is_empty(), "{:?}", desk.pages());
        // Other commands use it as their own.
        assert_eq!(run(&desk, &["token", url]).done().stdout, "old\n");
        assert_eq!(kept.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>(), before);
        run(&desk, &["logout", url]).done();
        let mut bridge = Bridge::start(&mut desk.trunkline(&["bridge", url]));
        assert_eq!(bridge.answer()["result"]["serverInfo"]["name"], "closed");
        assert_eq!(desk.pages().len(), 1, "a login that has ended is not taken over again");
    }
}

#[test]
fn logins_of_mcp_remote_at_configured_servers_are_taken_over() {
    let (server, other, desk) = (LoginServer::start(), LoginServer::start(), Desk::without_browser());
    let words = ["login", "--import-mcp-remote"];
    assert!(run(&desk, &words).failed(2).contains("has kept no login at a configured server"));
    assert!(run(&desk, &[&words[..], &[&*server.url()]].concat()).failed(2).contains("has kept no login at http://"));
    // An access token that has ended is renewed.
    let tokens = json!({"access_token": "old", "token_type": "bearer", "refresh_token": "r", "expires_at": 1_000});
    keep_login(&desk, "mcp-remote-v1", &server.url(), &tokens);
    let config = json!({"mcpServers": {
        "notes": {"command": "npx", "args": ["-y", "mcp-remote@latest", server.url()]},
        "others": {"url": other.url()},
    }});
    desk.home.write(".cursor/mcp.json", &config.to_string());
    let imported = run(&desk, &words).done();
    assert_eq!(imported.stdout, format!("logged in at {}\n", server.url()));
    assert!(server.seen("/token")[0].parameters.contains("client_id=theirs"), "{:?}", server.seen("/token"));
    assert_eq!(run(&desk, &["call", &server.url(), "look"]).done().stdout, "seen\n");
    assert!(server.seen("/register").is_empty() && other.seen("/mcp").is_empty());
    // A server that cannot be reached does not stop the others; the tokens are where the flag says.
    keep_login(&desk, "mcp-remote-v1", &other.url(), &tokens);
    keep_login(&desk, "mcp-remote-v1", "http://far.example/mcp", &tokens);
    let config = json!({"mcpServers": {"far": {"url": "http://far.example/mcp"}, "others": {"url": other.url()}}});
    desk.home.write(".cursor/mcp.json", &config.to_string());
    let store = desk.home.path.join("store");
    let imported = run(&desk, &[&words[..], &["--store", store.to_str().unwrap()]].concat());
    assert_eq!(imported.stdout, format!("logged in at {}\n", other.url()), "{imported:?}");
    assert!(imported.failed(2).contains("http://far.example"), "{imported:?}");
    assert!(fs::read_dir(store).unwrap().count() > 0);
}
