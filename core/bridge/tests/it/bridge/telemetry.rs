//! The load of servers, which the host asks for when it collects measurements.

use super::*;

#[test]
fn the_load_has_its_own_function() {
    let mut host = Host::new();
    assert_eq!(host.port.measurements().unwrap(), None, "nothing reports");
    host.port.notify(0, br#"{"telemetry": true}"#).unwrap();
    let server = host.server();
    host.echo(server);
    let connection = host.connection_of(server, "2025-11-25");
    host.result(connection, "echo", json!({"message": "x"}));
    let load: Value = serde_json::from_str(&host.port.measurements().unwrap().unwrap()).unwrap();
    let measured = load["measurements"].as_array().unwrap();
    let sessions = measured.iter().find(|one| one["name"] == "trunkline.server.sessions");
    assert_eq!(sessions.unwrap()["value"], 1, "{load}");
    assert_eq!(host.port.telemetry(0, &[]).unwrap(), None, "0 names nothing");
    host.stop(1000);
}
