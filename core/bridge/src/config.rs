//! Reading the JSON that hosts give to the port.

use super::error::BridgeError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use trunkline::server::Category;

/// Reads JSON of the host; the error says what `what` lacks or has too much.
pub(super) fn read<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<T, BridgeError> {
    // The path costs time, so it is only looked for when something is wrong.
    serde_json::from_slice(json).map_err(|error| {
        let located = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(json));
        let place = located.err().map(|error| error.path().to_string()).filter(|path| path != ".");
        let error = error.to_string();
        // A line and a column say nothing to a caller who did not write the text.
        let error = error.rfind(" at line ").map_or(&*error, |end| &error[..end]);
        BridgeError::invalid(match place {
            Some(path) => format!("{what}: {path}: {error}"),
            None => format!("{what}: {error}"),
        })
    })
}

/// The same from a value.
pub(super) fn read_value<T: DeserializeOwned>(what: &str, value: Value) -> Result<T, BridgeError> {
    serde_path_to_error::deserialize::<_, T>(value).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        BridgeError::invalid(if path == "." { format!("{what}: {error}") } else { format!("{what}: {path}: {error}") })
    })
}

/// A member of a message, which the error names with the member in it that is wrong.
pub(super) fn read_member<T: DeserializeOwned>(what: &str, member: &str, value: Value) -> Result<T, BridgeError> {
    serde_path_to_error::deserialize::<_, T>(value).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        let place = if path == "." { member.to_owned() } else { format!("{member}.{path}") };
        BridgeError::invalid(format!("{what}: {place}: {error}"))
    })
}

/// The lists of a server by their names.
pub(super) fn category(name: &str) -> Result<Category, BridgeError> {
    Category::parse(name).ok_or_else(|| {
        BridgeError::invalid(format!("{name:?} is not one of tools, resources, resourceTemplates and prompts"))
    })
}

/// Durations of the host, bounded so that adding one to a time cannot overflow.
pub(super) fn millis(given: Option<u64>, default: Duration) -> Duration {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    given.map_or(default, |given| Duration::from_millis(given).min(CENTURY))
}
