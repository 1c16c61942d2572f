//! The ways to name a server.

use crate::{
    program::{Folder, command, ran},
    servers::{OverHttp, fixture},
};
use serde_json::json;

#[test]
fn a_server_is_a_url_a_file_a_configured_name_or_a_command() {
    let server = OverHttp::start();
    let program = fixture();
    let home = Folder::new();
    let entry = json!({"command": program});
    let remote = json!({"url": server.url});
    let cursor = json!({"mcpServers": {"local": entry, "twice": entry}});
    home.write(".cursor/mcp.json", &format!("// comments are allowed\n{cursor}"));
    home.write(".codeium/windsurf/mcp_config.json", &json!({"mcpServers": {"twice": remote}}).to_string());
    home.write("one.json", &json!({"mcpServers": {"only": remote}}).to_string());
    home.write("two.json", &json!({"servers": {"a": remote, "b": entry}}).to_string());
    let quoted = format!("'{program}' --page-size 3");
    for (words, transport) in [
        (&[&*server.url][..], "http"),
        (&["one.json"], "http"),
        (&["two.json:b"], "stdio"),
        (&["cursor:local"], "stdio"),
        (&["windsurf:twice"], "http"),
        (&["--command", &quoted], "stdio"),
        (&["--", &program, "--page-size", "3"], "stdio"),
    ] {
        let ran = ran(command(&home.path).arg("ping").args(words)).done();
        assert!(ran.stdout.contains(&format!("· {transport} ·")), "{words:?}: {ran:?}");
    }
    let twice = ran(command(&home.path).args(["ping", "twice"]));
    let text = twice.failed(2);
    assert!(text.contains("more than once") && text.contains("cursor:twice, windsurf:twice"), "{text}");
    let near = ran(command(&home.path).args(["ping", "locl"]));
    assert!(near.failed(2).contains("did you mean local"), "{near:?}");
}

#[test]
fn r10_the_state_of_configured_servers_is_listed() {
    let (server, home) = (OverHttp::start(), Folder::new());
    let servers = json!({"mcpServers": {
        "here": {"command": fixture()},
        "away": {"command": "/none/such/program"},
        "there": {"url": server.url},
        "wrong": {"comand": "c"},
    }});
    home.write(".mcp.json", &servers.to_string());
    let listed = ran(command(&home.path).args(["list", "--status"])).done();
    let lines: Vec<&str> = listed.stdout.lines().map(str::trim).collect();
    for (name, state, why) in [
        ("here", "works", "trunkline-fixture-rust"),
        ("away", "unreachable", "cannot start"),
        ("there", "works", "· http ·"),
        ("wrong", "usage", "comand"),
    ] {
        let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
        assert!(line.contains(&format!("  project  {state}")) && line.contains(why), "{line}");
    }
    let json = ran(command(&home.path).args(["list", "--status", "--json"])).done().json();
    let works: Vec<_> = json["servers"].as_array().unwrap().iter().map(|server| &server["status"]["works"]).collect();
    assert_eq!(works, [true, false, true, false], "{json}");
    assert_eq!(json["servers"][1]["status"]["error"]["kind"], "unreachable");
    let both = ran(command(&home.path).args(["list", "--status", "here"]));
    assert!(both.failed(2).contains("--status is for the configured servers"), "{both:?}");
}

#[test]
fn configured_servers_are_listed_without_their_secrets() {
    let home = Folder::new();
    let none = ran(command(&home.path).arg("list")).done();
    assert!(none.stdout.is_empty() && none.stderr.contains("no server is configured"), "{none:?}");
    let servers = json!({"mcpServers": {
        "a": {"command": "a", "args": ["x"], "env": {"KEY": "hidden"}},
        "b": {"url": "https://b.example/mcp", "headers": {"X-Key": "hidden"}},
        "c": {"comand": "c"},
        "d": {"command": "npx", "args": ["mcp-remote", "https://d.example/mcp", "--header", "Authorization: Bearer ${TOKEN}"]},
        "e": {"url": "https://e.example/mcp?api_key=${TOKEN}"},
        "f": {"command": "f", "args": ["--api-key", "sk-hidden-0123456789", "--header", "X-Key: hidden-0123456789"]},
    }});
    home.write(".mcp.json", &servers.to_string());
    let listed = ran(command(&home.path).env("TOKEN", "hidden").arg("list")).done();
    assert!(listed.stdout.starts_with("servers (6)"), "{listed:?}");
    for part in [
        "  a  project  a x",
        "  b  project  https://b.example/mcp",
        "  c  project  invalid: ",
        "Authorization: Bearer ${TOKEN}",
        "https://e.example/mcp?api_key=${TOKEN}",
        "f --api-key sk-h… --header X-Key: hidd…",
    ] {
        assert!(listed.stdout.contains(part), "{part}: {listed:?}");
    }
    assert!(!listed.stdout.contains("hidden"), "{listed:?}");
    let json = ran(command(&home.path).env("TOKEN", "hidden").args(["list", "--json"])).done();
    assert!(!json.stdout.contains("hidden"), "{json:?}");
    assert_eq!(json.json()["servers"][1]["name"], "b");
}

#[test]
fn a_tool_may_be_joined_to_the_name_of_its_server() {
    let home = Folder::new();
    home.write(".mcp.json", &json!({"mcpServers": {"demo": {"command": fixture()}}}).to_string());
    let called = ran(command(&home.path).args(["call", "demo.echo", "message=hi"])).done();
    assert_eq!(called.stdout, "hi\n");
}

#[cfg(unix)]
#[test]
fn a_process_gets_the_variables_and_the_folder_of_the_flags() {
    let home = Folder::new();
    let folder = home.path.join("there");
    std::fs::create_dir(&folder).unwrap();
    let script = "echo \"$LEVEL in $PWD\" >&2; exit 1";
    let words = ["ping", "--env", "LEVEL=debug", "--cwd", folder.to_str().unwrap(), "--", "sh", "-c", script];
    let failed = ran(command(&home.path).args(words));
    assert!(failed.failed(4).contains("debug in ") && failed.stderr.contains("there"), "{failed:?}");
}
