//! Configurations with an `mcpServers` object that has an entry for each server, as most hosts use
//! them.

mod auth;
mod config_error;
mod defaults;
mod placeholders;
#[cfg(feature = "config-files")]
mod relaxed;
mod server_entry;

pub use config_error::ConfigError;
pub use defaults::ServerDefaults;
pub(crate) use placeholders::HOME;
#[cfg(feature = "config-files")]
pub(crate) use relaxed::json;
pub use server_entry::ServerEntry;

use config_error::ConfigValue;
use indexmap::IndexMap;
use serde_json::Value;

/// Names of the object of servers: the usual one, and those of VS Code, Zed, Codex and opencode.
const SERVERS: [&str; 5] = ["mcpServers", "servers", "context_servers", "mcp_servers", NESTING];
/// opencode has the servers in this object, or in an object `servers` inside of it.
const NESTING: &str = "mcp";

/// The servers of a configuration by name, in file order.
///
/// ```
/// use serde_json::json;
/// use trunkline::client::{ServerEntry, ServersConfig};
///
/// let config = ServersConfig::from_value(&json!({"mcpServers": {
///     "weather": {"command": "python", "args": ["weather.py"], "env": {"KEY": "${WEATHER_KEY:-none}"}},
///     "notes": {"type": "http", "url": "https://notes.example/mcp", "headers": {"X-Team": "a"}},
///     "typo": {"comand": "python"},
/// }}))?;
/// let wrong: Vec<_> = config.servers().filter_map(|(_, entry)| entry.err()).map(ToString::to_string).collect();
/// assert!(wrong[0].contains("/mcpServers/typo") && wrong[0].contains("comand"), "{wrong:?}");
/// # Ok::<(), trunkline::client::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServersConfig {
    servers: IndexMap<String, Result<ServerEntry, ConfigError>>,
}

impl ServersConfig {
    /// Reads a configuration. `source` is its name in errors; `variable` looks up environment
    /// variables.
    ///
    /// An invalid entry does not affect the others; [`ServersConfig::servers`] returns its error.
    /// Servers that are `"disabled": true` or `"enabled": false` are left out, and unknown members
    /// are ignored.
    ///
    /// # Errors
    /// If the object of servers is missing.
    pub fn read(config: &Value, source: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let root = ConfigValue::root(config, source, variable);
        root.object()?;
        let servers = SERVERS.iter().find_map(|name| root.member(name));
        let servers = servers.ok_or_else(|| root.error("has no object \"mcpServers\""))?;
        let nested = root.member(NESTING).and_then(|nesting| nesting.member("servers"));
        let servers = if root.value.get(NESTING) == Some(servers.value) { nested.unwrap_or(servers) } else { servers };
        let is_enabled = |entry: &Value| entry["disabled"] != true && entry["enabled"] != false;
        let entries = servers.members()?.filter(|(_, entry)| is_enabled(entry.value)).map(|(name, entry)| {
            let entry = ServerEntry::read(&entry);
            (name.clone(), if name.is_empty() { Err(servers.error("has a server without a name")) } else { entry })
        });
        Ok(Self { servers: entries.collect() })
    }

    /// Returns whether a value is a configuration rather than a single entry or something else.
    #[doc(hidden)]
    pub fn is_config(value: &Value) -> bool {
        value.is_object() && SERVERS.iter().any(|name| value.get(*name).is_some())
    }

    /// Reads one server, from an entry or from a configuration with exactly one server.
    ///
    /// # Errors
    /// If the number of servers is not one, or the entry is invalid.
    pub fn read_one(
        config: &Value,
        source: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ServerEntry, ConfigError> {
        let root = ConfigValue::root(config, source, variable);
        if config.is_object() && !Self::is_config(config) {
            return ServerEntry::read(&root);
        }
        let mut servers = Self::read(config, source, variable)?.servers;
        match (servers.pop(), servers.pop()) {
            (Some((_, entry)), None) => entry,
            (None, _) => Err(root.error("has no enabled server")),
            (Some((last, _)), Some(_)) => Err(root.error(&format!(
                "has several servers ({last:?} among them), but a client connects to one: use a client group, or pass one entry"
            ))),
        }
    }

    /// The servers: the name with the entry or its error.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = (&str, Result<&ServerEntry, &ConfigError>)> {
        self.servers.iter().map(|(name, entry)| (name.as_str(), entry.as_ref()))
    }
}

impl IntoIterator for ServersConfig {
    type Item = (String, Result<ServerEntry, ConfigError>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.servers.into_iter().collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests;
