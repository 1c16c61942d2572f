//! Writes messages and HTTP exchanges as JSON lines, one file per process.

use super::private_file::private;
use crate::{
    protocol::RawJson,
    wire_log::{Direction, HttpExchange, MessageInfo, Side, Transport, WireLog},
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::Path,
    time::SystemTime,
};

/// A wire log file.
pub(super) struct WireFile {
    file: File,
}

#[derive(Serialize)]
struct WireRecord<'a> {
    /// Milliseconds since the Unix epoch.
    time: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<u64>,
    role: &'static str,
    direction: &'static str,
    transport: &'static str,
    revision: Option<&'static str>,
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    malformed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<HttpRecord<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HttpRecord<'a> {
    method: &'a str,
    url: &'a str,
    request_headers: BTreeMap<&'a str, Vec<&'a str>>,
    status: Option<u16>,
    response_headers: BTreeMap<&'a str, Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    ms: u128,
}

impl WireFile {
    /// Creates a file for this process in a folder.
    pub(super) fn in_folder(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let name = format!("{}-{:016x}.jsonl", std::process::id(), u64::from_le_bytes(random));
        // Messages contain user data and secrets.
        Ok(Self { file: private().create_new(true).append(true).open(folder.join(name))? })
    }

    fn write(&self, record: &WireRecord<'_>) {
        if let Ok(mut line) = serde_json::to_vec(record) {
            // A message may contain line breaks between tokens; inside strings they are escaped.
            line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            line.push(b'\n');
            // Each line is one write, because several threads append and a killed process must not
            // leave partial lines.
            let _ = (&self.file).write_all(&line);
        }
    }
}

fn milliseconds() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis()
}

fn role(side: Side) -> &'static str {
    if side == Side::Server { "server" } else { "client" }
}

fn by_name(headers: &[(String, String)]) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    headers.iter().for_each(|(name, value)| all.entry(name).or_default().push(value));
    all
}

/// The ids of the declared extensions, and the tasks capability of 2025-11-25 (TKX-50).
fn declared(capabilities: &RawJson) -> Vec<String> {
    let capabilities: Value = capabilities.parse().unwrap_or_default();
    let extensions = capabilities.get("extensions").and_then(Value::as_object);
    let older = capabilities.get("tasks").map(|_| "tasks".to_owned());
    extensions.into_iter().flat_map(|extensions| extensions.keys().cloned()).chain(older).collect()
}

impl WireLog for WireFile {
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]) {
        // Text that a server prints is no JSON, and belongs to the log.
        let Ok(message) = serde_json::from_slice(text) else { return };
        let sent = exchange.direction == Direction::Sent;
        self.write(&WireRecord {
            time: milliseconds(),
            connection: exchange.connection,
            role: role(exchange.side),
            direction: if sent { "sent" } else { "received" },
            transport: exchange.transport.name(),
            revision: exchange.revision.map(|revision| revision.as_str()),
            method: exchange.method.filter(|method| !method.is_empty()),
            extensions: exchange.client_capabilities.map(declared),
            malformed: exchange.refused && !sent,
            message: Some(message),
            http: None,
        });
    }

    fn http(&self, exchange: &HttpExchange<'_>) {
        let http = HttpRecord {
            method: exchange.method,
            url: exchange.url,
            request_headers: by_name(&exchange.request_headers),
            status: exchange.status,
            response_headers: by_name(&exchange.response_headers),
            error: exchange.error,
            ms: exchange.duration.as_millis(),
        };
        self.write(&WireRecord {
            time: milliseconds(),
            connection: exchange.connection,
            role: role(exchange.side),
            direction: if exchange.side == Side::Client { "sent" } else { "received" },
            transport: Transport::Http.name(),
            revision: None,
            method: None,
            extensions: None,
            malformed: false,
            message: None,
            http: Some(http),
        });
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::WireFile;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn only_its_owner_can_read_a_wire_log() {
        let folder = std::env::temp_dir().join(format!("trunkline-wire-{}", std::process::id()));
        let file = WireFile::in_folder(&folder).unwrap().file;
        let mode = file.metadata().unwrap().permissions().mode();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(mode & 0o777, 0o600);
    }
}
