//! Writes the wire log as JSON lines, one file per process, in the directory that
//! `TRUNKLINE_WIRE_LOG` names.

use super::private_file::private;
use crate::{
    protocol::RawJson,
    wire_log::{Direction, MessageInfo, Side, WireLog},
};
use once_cell::race::OnceBox;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

/// A wire log file.
pub(super) struct WireFile {
    file: File,
}

#[derive(Serialize)]
struct WireRecord<'a> {
    role: &'static str,
    direction: &'static str,
    transport: &'static str,
    revision: Option<&'static str>,
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    malformed: bool,
    message: &'a RawValue,
}

impl WireFile {
    /// The file of this process, if the environment enables the wire log.
    pub(super) fn of_process() -> Option<&'static Self> {
        static FILE: OnceBox<Option<WireFile>> = OnceBox::new();
        let open = || {
            let folder = std::env::var_os("TRUNKLINE_WIRE_LOG")?;
            Self::in_folder(Path::new(&folder))
                .inspect_err(
                    |error| tracing::error!(target: "trunkline::wire_log", %error, "could not write the wire log"),
                )
                .ok()
        };
        FILE.get_or_init(|| Box::new(open())).as_ref()
    }

    fn in_folder(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(std::io::Error::other)?;
        let name = format!("{}-{:016x}.jsonl", std::process::id(), u64::from_le_bytes(random));
        // Messages contain user data and secrets.
        Ok(Self { file: private().create_new(true).append(true).open(folder.join(name))? })
    }
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
        let Ok(message) = serde_json::from_slice(text) else { return };
        let sent = exchange.direction == Direction::Sent;
        let record = WireRecord {
            role: if exchange.side == Side::Server { "server" } else { "client" },
            direction: if sent { "sent" } else { "received" },
            transport: exchange.transport.name(),
            revision: exchange.revision.map(|revision| revision.as_str()),
            method: exchange.method.filter(|method| !method.is_empty()),
            extensions: exchange.client_capabilities.map(declared),
            malformed: exchange.refused && !sent,
            message,
        };
        if let Ok(mut line) = serde_json::to_vec(&record) {
            // A message may contain line breaks between tokens; inside strings they are escaped.
            line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
            line.push(b'\n');
            // Each line is one write, because several threads append and a killed process must not
            // leave partial lines.
            let _ = (&self.file).write_all(&line);
        }
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
