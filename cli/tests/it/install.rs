//! Entries in the files of hosts: found, added and removed by the real program (R23).

use crate::program::{Folder, Ran, command, ran};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn trunkline(home: &Folder, words: &[&str]) -> Ran {
    ran(command(&home.path).env("WEATHER_KEY", "the-secret-value").args(words))
}

fn text(home: &Folder, path: &str) -> String {
    fs::read_to_string(home.path.join(path)).unwrap()
}

fn exists(home: &Folder, path: &str) -> bool {
    home.path.join(path).exists()
}

const CURSOR: &str = ".cursor/mcp.json";
const BACKUP: &str = ".cursor/mcp.json.trunkline-bak";
const ODD: &str = "\u{feff}// mine\r\n{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"url\": \"https://a.example/\"}, // a\r\n\t},\r\n\t\"other\": [1,2 , 3],\r\n}";

#[test]
fn r23_an_entry_comes_and_goes_and_the_file_is_the_same() {
    let home = Folder::new();
    home.write(CURSOR, ODD);
    let words = ["install", "--host", "cursor", "--name", "weather", "--yes", "--", "uvx", "weather-mcp"];
    let installed = trunkline(&home, &words).done();
    assert!(installed.stdout.contains("+ \t\t\"weather\": {"), "{installed:?}");
    let entry = "\r\n\t\t\"weather\": {\r\n\t\t\t\"command\": \"uvx\",\r\n\t\t\t\"args\": [\"weather-mcp\"]\r\n\t\t},";
    assert_eq!(text(&home, CURSOR), ODD.replace(" // a\r\n", &format!(" // a{entry}\r\n")));
    assert_eq!(text(&home, BACKUP), ODD);
    let again = trunkline(&home, &words).done();
    assert!(again.stdout.contains("weather is there already"), "{again:?}");
    assert_eq!(text(&home, BACKUP), ODD);
    trunkline(&home, &["uninstall", "weather", "--yes"]).done();
    assert_eq!(text(&home, CURSOR), ODD);
    assert!(!exists(&home, BACKUP));
}

#[test]
fn the_backup_brings_back_what_an_edit_cannot() {
    for (host, file, before) in [
        ("cursor", CURSOR, Some("")),
        ("cursor", CURSOR, Some("{}")),
        ("cursor", CURSOR, Some("// nothing yet")),
        ("codex", ".codex/config.toml", Some("model = \"x\"")),
        ("codex", ".codex/config.toml", None),
        ("zed", ".zed/settings.json", None),
    ] {
        let home = Folder::new();
        if let Some(before) = before {
            home.write(file, before);
        }
        let scope = if before.is_some() { "user" } else { "project" };
        let words =
            ["install", "--host", host, "--scope", scope, "--name", "weather", "--yes", "https://w.example/mcp"];
        trunkline(&home, &words).done();
        assert!(text(&home, file).contains("https://w.example/mcp"), "{host}");
        trunkline(&home, &["uninstall", "--host", host, "weather", "--yes"]).done();
        assert_eq!(fs::read_to_string(home.path.join(file)).ok().as_deref(), before, "{host}");
    }
}

#[test]
fn other_changes_survive_an_uninstallation() {
    let home = Folder::new();
    home.write(CURSOR, "{\n  \"mcpServers\": {}\n}\n");
    let install =
        |name| trunkline(&home, &["install", "--host", "cursor", "--name", name, "--yes", "--", "uvx", name]).done();
    install("one");
    install("two");
    trunkline(&home, &["uninstall", "one", "--yes"]).done();
    let value: Value = serde_json::from_str(&text(&home, CURSOR)).unwrap();
    assert_eq!(value, json!({"mcpServers": {"two": {"command": "uvx", "args": ["two"]}}}));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let home = Folder::new();
    home.write(CURSOR, "{}\n");
    let asked = trunkline(&home, &["install", "--host", "cursor", "--name", "weather", "--", "uvx", "weather-mcp"]);
    assert!(asked.failed(7).contains("--yes"), "{asked:?}");
    assert!(asked.stdout.contains("\"weather\""), "the change is shown: {asked:?}");
    assert_eq!(text(&home, CURSOR), "{}\n");
    assert!(!exists(&home, BACKUP));
}

#[test]
fn each_refusal_says_why_and_writes_nothing() {
    let home = Folder::new();
    home.write(CURSOR, "{\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}},\n  oops\n}\n");
    home.write(".gemini/settings.json", "{\"mcpServers\": {\"a\": {\"command\": \"other\"}}}");
    home.write(".codex/config.toml", "a = 1\nb = \n");
    home.write(".config/goose/config.yaml", "extensions: {}\n");
    let install =
        |host: &str, words: &[&str]| trunkline(&home, &[&["install", "--yes", "--host", host], words].concat());
    for (host, words, problem) in [
        ("cursor", &["--name", "w", "--", "a"][..], "~/.cursor/mcp.json: line 3, column 3"),
        ("codex", &["--name", "w", "--", "a"], "~/.codex/config.toml: line 2, column 5"),
        ("gemini", &["--name", "a", "--", "b"], "has another \"a\""),
        ("goose", &["--name", "w", "--", "a"], "add this line below `extensions:`"),
        ("windsurf", &["--name", "w", "--", "a"], "looked for ~/.codeium/windsurf/mcp_config.json"),
        ("windsurf", &["--scope", "project", "--name", "w", "--", "a"], "has no file for a project"),
        ("gemini", &["--", "b"], "the entry needs a name"),
        ("gemini", &["--name", "a b", "--", "b"], "is no name for all hosts"),
        ("gemini", &["--name", "w"], "no server is given"),
        ("gemini", &["--name", "w", "--env", "API_KEY=0123456789", "--", "b"], "looks like a secret"),
        ("gemini", &["--name", "w", "--env", "KEY", "https://x.example/"], "--env is for a server that is a command"),
        ("gemini", &["--name", "w", "--bearer-env", "KEY", "--", "b"], "are for servers with a URL"),
        ("gemini", &["--name", "w", "nonesuch"], "neither a URL, a file"),
    ] {
        let refused = install(host, words);
        assert!(refused.failed(2).replace('\\', "/").contains(problem), "{words:?}: {refused:?}");
    }
    for name in [".cursor/mcp.json.trunkline-bak", ".gemini/settings.json.trunkline-bak", ".codeium"] {
        assert!(!exists(&home, name), "{name}");
    }
    let none = trunkline(&Folder::new(), &["install", "--name", "w", "--", "a"]);
    assert!(none.failed(2).contains("no host was found") && none.stderr.contains("~/.claude.json"), "{none:?}");
    let several = trunkline(&home, &["install", "--name", "w", "--", "a"]);
    assert!(several.failed(2).contains("cursor, codex, gemini"), "{several:?}");
}

#[test]
fn a_configured_server_is_copied_without_its_secrets() {
    let home = Folder::new();
    let entry =
        json!({"command": "weather", "args": ["--url", "${WEATHER_URL}"], "env": {"WEATHER_KEY": "${WEATHER_KEY}"}});
    home.write(".mcp.json", &json!({"mcpServers": {"weather": entry}}).to_string());
    home.write(CURSOR, "{}");
    let words = ["install", "--host", "cursor", "--yes", "project:weather"];
    trunkline(&home, &words).done();
    let value: Value = serde_json::from_str(&text(&home, CURSOR)).unwrap();
    let expected = json!({"command": "weather", "args": ["--url", "${env:WEATHER_URL}"], "env": {"WEATHER_KEY": "${env:WEATHER_KEY}"}});
    assert_eq!(value["mcpServers"]["weather"], expected);
    let literal = [
        "install",
        "--host",
        "cursor",
        "--yes",
        "--name",
        "copy",
        "--env",
        "WEATHER_KEY",
        "--literal",
        "--",
        "weather",
    ];
    let literal = trunkline(&home, &literal).done();
    assert!(!literal.stdout.contains("the-secret-value"), "secrets are not shown: {literal:?}");
    assert!(text(&home, CURSOR).contains("the-secret-value"));
    let found = trunkline(&home, &["discover", "--json"]).done();
    assert!(!found.stdout.contains("the-secret-value"), "{found:?}");
    let found = found.json();
    let copy = found["servers"].as_array().unwrap().iter().find(|server| server["name"] == "copy").unwrap();
    assert_eq!(copy["secrets"], json!([{"member": "env.WEATHER_KEY", "masked": "the-…"}]));
}

#[test]
fn secrets_in_headers_of_arguments_are_neither_copied_nor_shown() {
    let home = Folder::new();
    let args = ["mcp-remote", "https://x.example/mcp", "--header", "Authorization: Bearer the-secret-value"];
    home.write(".mcp.json", &json!({"mcpServers": {"x": {"command": "npx", "args": args}}}).to_string());
    home.write(CURSOR, "{}");
    let copied = trunkline(&home, &["install", "--host", "cursor", "--yes", "project:x"]);
    assert!(copied.failed(2).contains("looks like a secret") && !copied.stderr.contains("secret-value"), "{copied:?}");
    let found = trunkline(&home, &["discover"]).done();
    assert!(found.stdout.contains("args[3] Bear…") && !found.stdout.contains("secret-value"), "{found:?}");
    let words = ["install", "--host", "claude-desktop", "--literal", "--bearer-env", "WEATHER_KEY", "--name", "n"];
    let shown = trunkline(&home, &[&words[..], &["--force", "--yes", "https://n.example/mcp"]].concat()).done();
    assert!(shown.stdout.contains("Authorization") && !shown.stdout.contains("the-secret-value"), "{shown:?}");
}

#[test]
fn an_access_token_is_a_reference_in_the_form_of_each_host() {
    let home = Folder::new();
    for (host, file, expected) in [
        ("claude-code", ".claude.json", "\"Authorization\": \"Bearer ${NOTES}\""),
        ("cursor", CURSOR, "\"Authorization\": \"Bearer ${env:NOTES}\""),
        ("codex", ".codex/config.toml", "bearer_token_env_var = \"NOTES\""),
        ("gemini", ".gemini/settings.json", "\"httpUrl\": \"https://n.example/mcp\""),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "\"serverUrl\": \"https://n.example/mcp\""),
        ("opencode", ".config/opencode/opencode.json", "\"Authorization\": \"Bearer {env:NOTES}\""),
    ] {
        let words = [
            "install",
            "--host",
            host,
            "--name",
            "n",
            "--bearer-env",
            "NOTES",
            "--force",
            "--yes",
            "https://n.example/mcp",
        ];
        trunkline(&home, &words).done();
        assert!(text(&home, file).contains(expected), "{host}: {}", text(&home, file));
    }
    let bare = trunkline(
        &home,
        &[
            "install",
            "--host",
            "zed",
            "--name",
            "n",
            "--bearer-env",
            "NOTES",
            "--force",
            "--yes",
            "https://n.example/mcp",
        ],
    );
    assert!(bare.failed(2).contains("Zed replaces no variables"), "{bare:?}");
    let bridged = ["install", "--host", "claude-desktop", "--name", "n", "--force", "--yes", "https://n.example/mcp"];
    let bridged = trunkline(&home, &bridged).done();
    assert!(bridged.stdout.contains("\"bridge\", \"https://n.example/mcp\""), "{bridged:?}");
}

#[test]
fn what_is_configured_is_found_in_every_format() {
    let home = Folder::new();
    let program = home.write("bin/server", "");
    home.write(
        CURSOR,
        &json!({"mcpServers": {"a": {"command": program}, "off": {"command": "x", "disabled": true}}}).to_string(),
    );
    home.write(".codex/config.toml", "[mcp_servers.a]\ncommand = \"no-such-program-here\"\n");
    home.write(".config/goose/config.yaml", "extensions:\n  developer:\n    type: builtin\n    name: developer\n  b:\n    type: streamable_http\n    uri: https://b.example/mcp\n");
    home.write(".config/opencode/opencode.jsonc", "{\"mcp\": {\"c\": {\"type\": \"local\", \"command\": []}}}");
    home.write(".vscode/mcp.json", "{\"servers\": {\"d\": {\"type\": \"http\", \"url\": \"https://d.example/mcp\"}}}");
    home.write(".gemini/settings.json", "{");
    let found = trunkline(&home, &["discover", "--json"]).done().json();
    let shown = |server: &Value| {
        let state = server["state"].as_str().unwrap().split(':').next().unwrap();
        format!("{} {} {state}", server["name"].as_str().unwrap(), server["host"].as_str().unwrap())
    };
    let servers: Vec<_> = found["servers"].as_array().unwrap().iter().map(shown).collect();
    for server in ["d project-vscode ok", "a cursor ok", "off cursor disabled", "a codex program not found"] {
        assert!(servers.contains(&server.to_owned()), "{server}: {servers:?}");
    }
    if !cfg!(windows) {
        assert!(
            servers.contains(&"b goose ok".to_owned()) && servers.contains(&"c opencode invalid".to_owned()),
            "{servers:?}"
        );
        assert!(!servers.iter().any(|server| server.starts_with("developer")), "{servers:?}");
    }
    assert_eq!(
        found["servers"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|server| server["name"] == "a")
            .map(|server| server["duplicates"][0]["isSame"].clone())
            .collect::<Vec<_>>(),
        [false, false]
    );
    let unreadable = found["unreadable"].to_string();
    assert!(unreadable.contains("settings.json") && unreadable.contains("line 1, column"), "{unreadable}");
    let text = trunkline(&home, &["discover", "--host", "codex"]).done();
    assert!(text.stdout.contains("program not found") && !text.stdout.contains("cursor"), "{text:?}");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Folder::new();
    let real = home.write("dotfiles/mcp.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path.join(".cursor")).unwrap();
    symlink(&real, home.path.join(CURSOR)).unwrap();
    trunkline(&home, &["install", "--host", "cursor", "--name", "w", "--yes", "--", "uvx", "w"]).done();
    assert!(fs::symlink_metadata(home.path.join(CURSOR)).unwrap().is_symlink());
    assert!(text(&home, "dotfiles/mcp.json").contains("uvx"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(Path::new(&real)), 0o640);
    assert_eq!(mode(&home.path.join(BACKUP)), 0o640);
    let names: Vec<_> =
        fs::read_dir(home.path.join("dotfiles")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mcp.json"], "nothing is left over");
}
