//! Values and errors passed to the host.

use trunkline_bridge::{self as bridge, BridgeError, ErrorKind};

use crate::whole_bytes::WholeBytes;

pub(crate) type Result<T> = std::result::Result<T, PortError>;

/// An error of the bridge.
#[derive(Debug, uniffi::Error)]
pub enum PortError {
    /// A function of the bridge has failed.
    Failed {
        /// Its kind.
        kind: String,
        /// The error object as JSON.
        json: String,
    },
}

impl std::fmt::Display for PortError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Failed { json, .. } = self;
        f.write_str(json)
    }
}

pub(crate) fn thrown(error: BridgeError) -> PortError {
    PortError::Failed { kind: error.kind.as_str().to_owned(), json: error.to_json() }
}

pub(crate) fn invalid(message: String) -> PortError {
    thrown(BridgeError { kind: ErrorKind::InvalidArgument, message, code: None, data: None })
}

/// How errors write the names of options.
#[derive(Debug, Clone, Copy, uniffi::Enum)]
pub enum OptionNames {
    /// `drainDeadline`.
    Camel,
    /// `drain_deadline`.
    Snake,
}

impl From<OptionNames> for bridge::OptionNames {
    fn from(names: OptionNames) -> Self {
        match names {
            OptionNames::Camel => Self::Camel,
            OptionNames::Snake => Self::Snake,
        }
    }
}

/// An event; `docs/bridge.md` describes the kinds.
#[derive(Debug, uniffi::Record)]
pub struct Event {
    /// The number of its kind.
    pub kind: u8,
    /// The call to answer, or the request that was answered; 0 if none.
    pub ticket: u64,
    /// The registered feature, the listener or the connection; 0 if none.
    pub handle: u64,
    /// False if the body is an error object.
    pub ok: bool,
    /// The method or the operation; empty if none.
    pub name: String,
    /// JSON or text in UTF-8, or the bytes of a response.
    pub body: WholeBytes,
    /// The exchange or request that caused a call; 0 if none.
    pub cause: u64,
    /// The number of the port that knows the cause; 0 if it is the event's own port.
    pub cause_port: u64,
}

impl From<bridge::Event> for Event {
    fn from(event: bridge::Event) -> Self {
        Self {
            kind: event.kind as u8,
            ticket: event.ticket,
            handle: event.handle,
            ok: event.ok(),
            name: event.name,
            body: WholeBytes(event.body.into_bytes()),
            cause: event.cause,
            cause_port: event.cause_port,
        }
    }
}

impl Event {
    /// The size of the number of events, which comes before them in a list.
    pub(crate) const COUNT_SIZE: usize = size_of::<u32>();

    /// Its size in a list: four numbers of 64 bits, two bytes, and the name and the body after
    /// their lengths.
    pub(crate) fn size(&self) -> usize {
        4 * size_of::<u64>() + 2 + 2 * Self::COUNT_SIZE + self.name.len() + self.body.0.len()
    }
}
