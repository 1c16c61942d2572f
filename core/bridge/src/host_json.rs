//! Reads the JSON that hosts pass to the port.

use crate::BridgeError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::time::Duration;
use trunkline::{
    protocol::{describe::Described, fault, surrogates, too_deep},
    server::Category,
};

/// A message as passed by a host: JSON text, or its members if the host is written in Rust.
pub trait Given {
    /// Parses it. The error names `message` and the invalid member.
    ///
    /// # Errors
    /// If it is not a message of this type.
    fn read<T: Described + DeserializeOwned>(self, message: &str) -> Result<T, BridgeError>;
}

impl<Text: AsRef<[u8]> + ?Sized> Given for &Text {
    fn read<T: Described + DeserializeOwned>(self, message: &str) -> Result<T, BridgeError> {
        read(message, self.as_ref())
    }
}

impl Given for Map<String, Value> {
    fn read<T: Described + DeserializeOwned>(self, message: &str) -> Result<T, BridgeError> {
        read_value(message, Value::Object(self))
    }
}

/// Reads JSON from the host; the error names missing and unknown members of `what`.
pub(crate) fn read<T: Described + DeserializeOwned>(what: &str, json: &[u8]) -> Result<T, BridgeError> {
    let json = &*surrogates::mended(json);
    // As a string, from which all else is read as well: each source would compile each type again.
    str::from_utf8(json).map_err(serde::de::Error::custom).and_then(serde_json::from_str).or_else(|error| {
        // The type is only checked to explain an error.
        let value: Value = serde_json::from_slice(json).map_err(|unread| {
            let error = too_deep(&unread.to_string()).map_or_else(|| error.to_string(), str::to_owned);
            // Line and column are meaningless to a caller who did not write the JSON.
            let error = error.rfind(" at line ").map_or(&*error, |end| &error[..end]);
            // The fixed limit of the parser.
            let error = if error.starts_with("recursion limit") { "nests deeper than 128 levels" } else { error };
            BridgeError::invalid(format!("{what}: {error}"))
        })?;
        read_value(what, value)
    })
}

/// The same from a value.
pub(crate) fn read_value<T: Described + DeserializeOwned>(what: &str, value: Value) -> Result<T, BridgeError> {
    fault::read(&value).map_err(|fault| BridgeError::invalid(format!("{what}: {fault}")))
}

/// Reads a member of a message. The error names it, and what is invalid in it.
pub(crate) fn read_member<T: Described + DeserializeOwned>(
    what: &str,
    member: &str,
    value: Value,
) -> Result<T, BridgeError> {
    fault::read(&value).map_err(|fault| BridgeError::invalid(format!("{what}: {}", fault.below(member))))
}

/// The lists of a server by their names.
pub(crate) fn category(name: &str) -> Result<Category, BridgeError> {
    Category::parse(name).ok_or_else(|| {
        BridgeError::invalid(format!("{name:?} is not one of tools, resources, resourceTemplates and prompts"))
    })
}

/// Durations of the host, bounded so that adding one to a time cannot overflow.
pub(crate) fn millis(given: u64) -> Duration {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    Duration::from_millis(given).min(CENTURY)
}

/// Removes members that are null.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}
