//! The real program finds offline what the registry would refuse (R28).

use crate::program::{Folder, Ran, command, ran};
use serde_json::{Value, json};

fn check(folder: &Folder, words: &[&str]) -> Ran {
    ran(command(&folder.path).args(["publish", "--check"]).args(words))
}

fn server() -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.ada/weather",
        "description": "Forecasts",
        "version": "1.4.0",
        "packages": [{"registryType": "npm", "identifier": "@ada/weather", "version": "1.4.0", "transport": {"type": "stdio"}}],
    })
}

#[test]
fn r28_a_server_is_checked_with_its_package() {
    let folder = Folder::new();
    folder.write("server.json", &server().to_string());
    let fine = check(&folder, &[]).done();
    assert!(fine.stdout.is_empty() && fine.stderr.contains("nothing that the registry would refuse"), "{fine:?}");
    folder.write("package.json", &json!({"name": "@ada/weather", "mcpName": "io.github.ada/other"}).to_string());
    let mut wrong = server();
    wrong["description"] = "x".repeat(101).into();
    wrong["version"] = "^1.4.0".into();
    folder.write("server.json", &wrong.to_string());
    let found = check(&folder, &[]);
    assert_eq!(found.code, Some(1), "{found:?}");
    for part in [
        "schema         /description",
        "version-range  /version",
        "marker         /packages/0",
        "needs \"mcpName\": \"io.github.ada/weather\"",
    ] {
        assert!(found.stdout.contains(part), "{part}: {found:?}");
    }
    let found = check(&folder, &["--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let rules: Vec<Value> =
        found.json()["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].clone()).collect();
    assert_eq!(rules, ["schema", "version-range", "marker"]);
}

#[test]
fn the_hash_and_the_readme_of_a_package_are_read() {
    let folder = Folder::new();
    let bundle = |hash: Value| {
        let mut server = server();
        server["packages"][0] = json!({
            "registryType": "mcpb",
            "identifier": "https://github.com/ada/weather/releases/download/v1/weather.mcpb",
            "transport": {"type": "stdio"},
            "fileSha256": hash,
        });
        folder.write("server.json", &server.to_string());
        check(&folder, &[])
    };
    folder.write("weather.mcpb", "");
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    bundle(empty.into()).done();
    let other = bundle("0".repeat(64).into());
    assert!(other.code == Some(1) && other.stdout.contains(empty), "{other:?}");
    let mut python = server();
    python["packages"][0] =
        json!({"registryType": "pypi", "identifier": "weather", "version": "1.4.0", "transport": {"type": "stdio"}});
    folder.write("server.json", &python.to_string());
    folder.write("README.md", "# Weather\n");
    let unmarked = check(&folder, &[]);
    assert!(unmarked.stdout.contains("mcp-name: io.github.ada/weather"), "{unmarked:?}");
    folder.write("README.md", "# Weather\n\n<!-- mcp-name: io.github.ada/weather -->\n");
    check(&folder, &[]).done();
}

#[test]
fn a_file_that_cannot_be_checked_is_named() {
    let folder = Folder::new();
    assert!(check(&folder, &[]).failed(2).contains("server.json: there is no such file"));
    folder.write("server.json", "{\n  // no comments\n}");
    assert!(check(&folder, &[]).failed(2).contains("line 2 column 3"));
    let upload = ran(command(&folder.path).arg("publish"));
    assert!(upload.failed(2).contains("mcp-publisher publish"), "{upload:?}");
}

#[test]
fn a_bundle_is_the_same_on_each_machine() {
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "weather",
        "version": "1.4.0",
        "description": "Forecasts",
        "author": {"name": "Ada"},
        "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"]}},
    });
    let pack = |files: &[(&str, &str)]| {
        let folder = Folder::new();
        folder.write("weather/manifest.json", &manifest.to_string());
        for (path, text) in files {
            folder.write(&format!("weather/{path}"), text);
        }
        let packed = ran(command(&folder.path).args(["pack", "weather", "--json"]));
        let bytes = std::fs::read(folder.path.join("weather-1.4.0.mcpb")).unwrap_or_default();
        (packed, bytes)
    };
    let code = ("server/index.js", "console.log(1)");
    let (one, bytes) = pack(&[code, ("README.md", "x")]);
    // Other files first, and some that a bundle has not.
    let others =
        [("README.md", "x"), (".env", "KEY=1"), ("out.log", ""), (".mcpbignore", "notes/\n"), ("notes/a", ""), code];
    let (other, same) = pack(&others);
    assert_eq!(one.done().json()["fileSha256"], other.done().json()["fileSha256"]);
    assert!(!bytes.is_empty() && bytes == same);
    let (refused, _) = pack(&[]);
    assert!(refused.code == Some(2) && refused.stderr.contains("is not in the bundle"), "{refused:?}");
}
