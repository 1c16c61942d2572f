//! The program contains no protocol: no JSON-RPC, no HTTP of MCP, no OAuth, no JSON Schema.

use std::{fs, path::Path};

/// Words of the wire that only the library may know.
const WORDS: [&str; 24] = [
    "jsonrpc",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
    "www-authenticate",
    "\"authorization\"",
    "\"accept\"",
    "event-stream",
    "authorization_code",
    "client_credentials",
    "refresh_token",
    "code_verifier",
    "well-known",
    "\"initialize\"",
    "server/discover",
    "tools/",
    "resources/",
    "prompts/",
    "notifications/",
    "\"$ref\"",
    "\"properties\"",
    "\"required\"",
    "anyof",
    "inputrequests",
];

#[test]
fn the_sources_have_no_word_of_the_wire() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut sources) = (vec![folder], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Tests play servers.
            if path.ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap().to_lowercase();
            let found: Vec<_> = WORDS.iter().filter(|word| text.contains(*word)).collect();
            assert!(found.is_empty(), "{}: {found:?}: this belongs to the library", path.display());
            sources += 1;
        }
    }
    assert!(sources > 10);
}
