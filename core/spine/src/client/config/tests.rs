use super::*;
use serde_json::json;

fn read(config: Value) -> Result<ServersConfig, ConfigError> {
    ServersConfig::read(&config, "mcp.json", &|name| (name == "KEY").then(|| "secret".to_owned()))
}

fn error_of(entry: Value) -> String {
    let config = read(json!({"mcpServers": {"a/b": entry}})).unwrap();
    let (_, entry) = config.servers().next().unwrap();
    entry.unwrap_err().to_string()
}

#[test]
fn entries_of_the_usual_hosts_are_read() {
    let config = read(json!({"mcpServers": {
        "claude": {"command": "npx", "args": ["-y", "server", "${KEY}"], "env": {"TOKEN": "${KEY}"}},
        "cursor": {"url": "https://x.example/${env:KEY}", "headers": {"Authorization": "Bearer ${KEY}"}},
        "typed": {"type": "streamable-http", "url": "https://x.example/mcp"},
        "old": {"type": "sse", "url": "https://x.example/sse", "timeout": 30},
        "program": {"type": "stdio", "command": "weather", "args": null, "cwd": "/srv", "inheritEnv": false, "stderr": "keep", "stderrFile": "/var/log/weather"},
        "off": {"command": "never", "disabled": true},
    }}))
    .unwrap();
    let entries: Vec<_> = config.servers().map(|(name, entry)| (name, entry.unwrap().clone())).collect();
    let url = |url: &str, headers: &[(&str, &str)]| ServerEntry::Url {
        url: url.to_owned(),
        shown_url: url.strip_suffix("secret").map(|start| format!("{start}${{env:KEY}}")),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        http_sse: url.ends_with("/sse"),
        auth: None,
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        entries,
        [
            (
                "claude",
                ServerEntry::Command {
                    command: texts(&["npx", "-y", "server", "secret"]),
                    env: [("TOKEN".to_owned(), "secret".to_owned())].into(),
                    cwd: None,
                    inherit_env: None,
                    stderr: None,
                    stderr_file: None,
                }
            ),
            ("cursor", url("https://x.example/secret", &[("Authorization", "Bearer secret")])),
            ("typed", url("https://x.example/mcp", &[])),
            ("old", url("https://x.example/sse", &[])),
            (
                "program",
                ServerEntry::Command {
                    command: texts(&["weather"]),
                    env: std::collections::BTreeMap::new(),
                    cwd: Some("/srv".into()),
                    inherit_env: Some(false),
                    stderr: Some("keep".into()),
                    stderr_file: Some("/var/log/weather".into()),
                }
            ),
        ]
    );
    assert!(!format!("{entries:?}").contains("Bearer"), "secrets are not shown");
    assert!(!format!("{:?}", entries[1]).contains("secret"));
    assert_eq!(read(json!({"servers": {"code": {"url": "http://x/"}}})).unwrap().servers().len(), 1);
}

#[test]
fn the_entries_of_codex_opencode_zed_and_goose_are_read() {
    let command = |command: &[&str], env: &[(&str, &str)]| ServerEntry::Command {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
        inherit_env: None,
        stderr: None,
        stderr_file: None,
    };
    let url = |headers: &[(&str, &str)]| ServerEntry::Url {
        url: "https://x.example/mcp".to_owned(),
        shown_url: None,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        http_sse: false,
        auth: None,
    };
    let x = "https://x.example/mcp";
    for (config, expected) in [
        (
            json!({"mcp_servers": {"a": {"command": "a", "args": ["b"], "env": {"X": "1"}, "env_vars": ["KEY", "NONE", {"name": "KEY"}]}}}),
            command(&["a", "b"], &[("KEY", "secret"), ("X", "1")]),
        ),
        (
            json!({"mcp_servers": {"a": {"url": x, "bearer_token_env_var": "KEY", "http_headers": {"A": "b"}, "env_http_headers": {"C": "KEY", "D": "NONE"}}}}),
            url(&[("A", "b"), ("Authorization", "Bearer secret"), ("C", "secret")]),
        ),
        (
            json!({"mcp": {"a": {"type": "local", "command": ["a", "b"], "environment": {"X": "{env:KEY}"}, "enabled": true}}}),
            command(&["a", "b"], &[("X", "secret")]),
        ),
        (json!({"mcp": {"servers": {"a": {"type": "remote", "url": x}}}}), url(&[])),
        (json!({"context_servers": {"a": {"source": "custom", "command": "a", "args": []}}}), command(&["a"], &[])),
        (
            json!({"mcpServers": {"a": {"type": "stdio", "cmd": "a", "args": ["b"], "envs": {"X": "1"}, "env_keys": []}}}),
            command(&["a", "b"], &[("X", "1")]),
        ),
        (json!({"mcpServers": {"a": {"type": "streamable_http", "uri": x}}}), url(&[])),
    ] {
        let read = read(config.clone()).unwrap();
        assert_eq!(read.servers().next().unwrap().1.unwrap(), &expected, "{config}");
    }
    assert_eq!(read(json!({"mcp": {"a": {"command": ["a"], "enabled": false}}})).unwrap().servers().len(), 0);
    for (entry, expected) in [
        (json!({"command": []}), "/mcpServers/a~1b/command: is empty"),
        (json!({"command": ["a", 1]}), "/mcpServers/a~1b/command/1: must be a string"),
        (json!({"url": "x", "bearer_token_env_var": "NONE"}), "needs the environment variable NONE"),
        (json!({"command": "a", "env_vars": [5]}), "/mcpServers/a~1b/env_vars/0: must be a string"),
    ] {
        let error = error_of(entry.clone());
        assert!(error.contains(expected), "{entry}: {error}");
    }
}

#[test]
fn other_names_of_urls_and_the_home_of_the_user_are_read() {
    let variable = |name: &str| (name == "userHome").then(|| "/home/ada".to_owned());
    let entry = |entry: Value| ServersConfig::read_one(&entry, "mcp.json", &variable).unwrap();
    for name in ["url", "serverUrl", "httpUrl"] {
        assert!(matches!(entry(json!({name: "http://x/"})), ServerEntry::Url { url, .. } if url == "http://x/"));
    }
    for (given, found) in
        [("~", "/home/ada"), ("~/a", "/home/ada/a"), ("~bob", "~bob"), ("${userHome}/b", "/home/ada/b")]
    {
        let entry = entry(json!({"command": "x", "cwd": given}));
        assert!(matches!(entry, ServerEntry::Command { cwd: Some(cwd), .. } if cwd == found), "{given}");
    }
}

#[test]
fn an_entry_with_an_error_names_the_file_the_place_and_the_problem() {
    for (entry, expected) in [
        (json!("npx"), "mcp.json at /mcpServers/a~1b: must be an object, not a string"),
        (json!({}), "mcp.json at /mcpServers/a~1b: needs either"),
        (json!({"command": "x", "url": "y"}), "/mcpServers/a~1b: has both"),
        (json!({"command": {"path": "x"}}), "/mcpServers/a~1b/command: must be a string, not an object"),
        (json!({"command": ""}), "/mcpServers/a~1b/command: is empty"),
        (json!({"command": "x", "args": "y"}), "/mcpServers/a~1b/args: must be a list"),
        (json!({"command": "x", "args": ["y", 5]}), "/mcpServers/a~1b/args/1: must be a string, not a number"),
        (json!({"command": "x", "env": {"A": true}}), "/mcpServers/a~1b/env/A: must be a string, not a boolean"),
        (json!({"command": "x", "env": {"A": "${NO}"}}), "/mcpServers/a~1b/env/A: needs the environment variable NO"),
        (json!({"command": "x", "inheritEnv": 1}), "/mcpServers/a~1b/inheritEnv: must be true or false"),
        (json!({"command": "x", "stderr": "file"}), "/mcpServers/a~1b/stderr: must be one of inherit, keep, discard"),
        (json!({"url": "x", "httpUrl": "y"}), "/mcpServers/a~1b: has both \"url\" and \"httpUrl\""),
        (json!({"command": "x", "envFile": ".env"}), "/mcpServers/a~1b/envFile: is not supported"),
        (json!({"command": "x", "arg": ["y"]}), "/mcpServers/a~1b/arg: is unknown: did you mean \"args\"?"),
        (json!({"url": "x", "Headers": {}}), "/mcpServers/a~1b/Headers: is unknown: did you mean \"headers\"?"),
        (json!({"command": "x", "type": "http"}), "/mcpServers/a~1b/type: a server with a \"command\""),
        (json!({"url": "x", "type": "stdio"}), "/mcpServers/a~1b/type: a server of the type"),
        (json!({"url": "x", "type": "ws"}), "/mcpServers/a~1b/type: \"ws\" is unknown"),
    ] {
        let error = error_of(entry.clone());
        assert!(error.contains(expected), "{entry}: {error}");
    }
    for (config, expected) in [
        (json!([]), "mcp.json: must be an object, not a list"),
        (json!({"weather": {}}), "mcp.json: has no object \"mcpServers\""),
        (json!({"mcpServers": 5}), "mcp.json at /mcpServers: must be an object"),
    ] {
        assert!(read(config.clone()).unwrap_err().to_string().contains(expected), "{config}");
    }
}

#[test]
fn a_server_entry_has_its_own_credentials_in_the_formats_of_several_hosts() {
    let auth = |entry: Value| match ServersConfig::read_one(&entry, "mcp.json", &|_| Some("secret".to_owned())) {
        Ok(ServerEntry::Url { auth, .. }) => auth,
        other => panic!("{other:?}"),
    };
    let with = |member: &str, value: Value| auth(json!({"url": "http://x/", member: value}));
    for (member, given, options) in [
        (
            "auth",
            json!({"clientId": "a", "scopes": ["${X}"], "dpop": true}),
            json!({"clientId": "a", "scopes": ["secret"], "dpop": true}),
        ),
        ("auth", json!("oauth"), json!({})),
        ("auth", json!("${TOKEN}"), json!({"token": "secret"})),
        // Cursor.
        (
            "auth",
            json!({"CLIENT_ID": "a", "CLIENT_SECRET": "${env:S}", "scopes": ["b"]}),
            json!({"clientId": "a", "clientSecret": "secret", "scopes": ["b"]}),
        ),
        // Claude Code.
        (
            "oauth",
            json!({"clientId": "a", "callbackPort": 8912, "scopes": "b c"}),
            json!({"clientId": "a", "redirectUri": "http://localhost:8912/callback", "scopes": ["b", "c"]}),
        ),
    ] {
        assert_eq!(with(member, given.clone()), Some(options), "{given}");
    }
    assert_eq!(with("auth", json!(null)), None);
    for (entry, expected) in [
        (json!({"url": "x", "auth": 5}), "/mcpServers/a~1b/auth: must be an object"),
        (json!({"url": "x", "auth": {"clientId": "${NO}"}}), "/mcpServers/a~1b/auth/clientId: needs the environment"),
        (json!({"url": "x", "auth": {}, "oauth": {}}), "/mcpServers/a~1b/oauth: cannot be combined with \"auth\""),
        (json!({"url": "x", "oauth": {"callbackPort": 0}}), "/mcpServers/a~1b/oauth/callbackPort: must be a port"),
        (json!({"url": "x", "oauth": {"other": 1}}), "/mcpServers/a~1b/oauth/other: is not supported"),
        (json!({"command": "x", "auth": {}}), "/mcpServers/a~1b: has \"auth\""),
    ] {
        let error = error_of(entry.clone());
        assert!(error.contains(expected), "{entry}: {error}");
    }
}

#[test]
fn an_error_in_one_entry_does_not_affect_the_others() {
    let config = read(json!({"mcpServers": {"bad": {}, "good": {"url": "http://x/"}}})).unwrap();
    let fine: Vec<_> = config.servers().map(|(name, entry)| (name, entry.is_ok())).collect();
    assert_eq!(fine, [("bad", false), ("good", true)]);
}

#[test]
fn one_server_is_an_entry_or_a_configuration_with_one() {
    let one =
        |config: Value| ServersConfig::read_one(&config, "mcp.json", &|_| None).map_err(|error| error.to_string());
    assert!(one(json!({"url": "http://x/"})).is_ok());
    assert!(one(json!({"mcpServers": {"a": {"url": "http://x/"}, "b": {"disabled": true}}})).is_ok());
    for (config, expected) in [
        (json!({}), "mcp.json: needs either"),
        (json!({"mcpServers": {}}), "mcp.json: has no enabled server"),
        (json!({"mcpServers": {"a": {"url": "x"}, "b": {"url": "y"}}}), "mcp.json: has several servers"),
        (json!({"mcpServers": {"a": {}}}), "mcp.json at /mcpServers/a: needs either"),
        (json!("x"), "mcp.json: must be an object"),
    ] {
        let error = one(config.clone()).unwrap_err();
        assert!(error.contains(expected), "{config}: {error}");
    }
}
