//! The lines that the core writes while tests run, one JSON object per message, parsed to a
//! [`Record`].
//!
//! ```json
//! {"role":"server","direction":"sent","transport":"stdio","revision":"2025-06-18","method":"tools/call","message":{…}}
//! ```
//!
//! `role` is ours: the side that wrote the line. `revision` is null before negotiation. `method` is
//! that of the message, or of the request it answers. Optional are `"malformed": true` for input
//! that a test corrupted on purpose, and `"extensions"`, the ids that the client declared (and
//! `tasks` for the capability of 2025-11-25). A line with `"http"` is about an HTTP exchange, and
//! has no message.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Direction, Record, Revision};

/// Which side wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Server,
    Client,
}

/// The writer of a line either sent the message or received it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    /// Written by us.
    Sent,
    /// Written by the peer.
    Received,
}

#[derive(Deserialize)]
struct Line<'a> {
    role: Role,
    direction: Flow,
    transport: String,
    revision: Option<String>,
    method: Option<String>,
    #[serde(default)]
    malformed: bool,
    extensions: Option<Vec<String>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    http: Option<IgnoredAny>,
}

/// A parsed line.
#[derive(Debug)]
pub struct Entry {
    /// Transport of the message: `stdio`, `http`, `memory`, `child`.
    pub transport: String,
    /// The writer of the message.
    pub flow: Flow,
    /// False if the line is about an HTTP exchange.
    pub is_message: bool,
    /// The message to check; `None` if it was corrupted on purpose, or if there is none.
    pub record: Option<Record>,
}

/// A line that is not a record.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or lacks the fields of a record.
    #[error("unreadable record: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// A revision that no schema describes.
    #[error("unknown revision \"{0}\"; there are schemas for 2024-11-05 to 2026-07-28 only")]
    Revision(String),
    /// Nothing to check.
    #[error("the record has no message")]
    NoMessage,
}

impl Entry {
    /// Reads one line.
    ///
    /// # Errors
    /// If the line is not a record.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let line: Line = serde_json::from_slice(line)?;
        let record = match (line.malformed || line.http.is_some(), line.record()) {
            (true, _) => None,
            // Numbers and escapes that cannot be represented: a peer sent them on purpose.
            (false, Err(LineError::Unreadable(_))) if line.direction == Flow::Received => None,
            (false, record) => Some(record?),
        };
        Ok(Self { transport: line.transport, flow: line.direction, is_message: line.http.is_none(), record })
    }
}

impl Line<'_> {
    fn record(&self) -> Result<Record, LineError> {
        let message: Value = serde_json::from_str(self.message.ok_or(LineError::NoMessage)?.get())?;
        let direction = match (self.role, self.direction) {
            (Role::Client, Flow::Sent) | (Role::Server, Flow::Received) => Direction::ClientToServer,
            (Role::Server, Flow::Sent) | (Role::Client, Flow::Received) => Direction::ServerToClient,
        };
        let revision = match &self.revision {
            Some(name) => Revision::parse(name).ok_or_else(|| LineError::Revision(name.clone()))?,
            None => undecided(&message, self.method.as_deref()),
        };
        Ok(Record { revision, direction, method: self.method.clone(), extensions: self.extensions.clone(), message })
    }
}

/// The revision of a message sent before negotiation: the one that it names, if any.
fn undecided(message: &Value, method: Option<&str>) -> Revision {
    let method = message.get("method").and_then(Value::as_str).or(method);
    let named = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).and_then(Revision::parse);
    match method {
        Some("server/discover") => Revision::PROBE,
        Some("initialize") => named("/params/protocolVersion")
            .or_else(|| named("/result/protocolVersion"))
            // An offer of a modern revision still has the form of a legacy one.
            .filter(|revision| revision.is_legacy())
            .unwrap_or(Revision::NEWEST_LEGACY),
        // The late response to a probe: a slow server sent it during the handshake.
        None if message.pointer("/result/supportedVersions").is_some() => Revision::PROBE,
        _ => named("/params/_meta/io.modelcontextprotocol~1protocolVersion").unwrap_or(Revision::NEWEST_LEGACY),
    }
}
