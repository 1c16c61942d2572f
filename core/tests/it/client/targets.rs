//! Configurations as targets of a client.

use crate::process::{File, child};
use serde_json::{Value, json};
use trunkline::{
    Client,
    client::{ErrorKind, ServerEntry},
    transport::Target,
};

/// The entry of a server that plays a role of this binary.
pub(super) fn entry(role: &str, file: &File) -> Value {
    let command = child(role, file);
    let env: serde_json::Map<_, _> = command.env.into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({"command": command.command[0], "args": command.command[1..], "env": env, "type": "stdio"})
}

#[tokio::test]
async fn an_entry_a_configuration_and_its_file_lead_to_a_server() {
    let diary = File::new();
    let entry = entry("script fragile", &diary);
    let config = json!({"mcpServers": {"only": entry}});
    let path = std::env::temp_dir().join(format!("trunkline-{}.json", std::process::id()));
    std::fs::write(&path, config.to_string()).unwrap();
    let targets: [Target; 5] = [
        entry.clone().into(),
        ServerEntry::from_value(&entry).unwrap().into(),
        config.into(),
        path.as_path().into(),
        path.to_str().unwrap().into(),
    ];
    for target in targets {
        let client = Client::connect(target).await.unwrap();
        assert_eq!(client.server_info().unwrap().name, "fragile");
        client.close().await;
    }
    std::fs::remove_file(&path).unwrap();
    let error = Client::connect(path).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn a_place_that_is_none_is_refused_with_what_to_do() {
    for (place, expected) in [
        (json!("python weather.py"), "command of a server as a list"),
        (json!([]), "a command is a list of strings"),
        (json!(["python", 5]), "a command is a list of strings"),
        (json!(5), "must be an object, not a number"),
    ] {
        let error = ServerEntry::from_value(&place).unwrap_err().to_string();
        assert!(error.contains(expected), "{place}: {error}");
    }
    assert!(matches!(ServerEntry::from_value(&json!("http://x/a.json")), Ok(ServerEntry::Url { .. })));
}
