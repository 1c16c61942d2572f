//! Configuration files, with the environment of this process.

use crate::client::{ConfigError, ServerEntry, ServersConfig, config::HOME};
#[cfg(feature = "config-files")]
use crate::{client::config::json, util::regular_file};
use serde_json::Value;
#[cfg(feature = "config-files")]
use std::io::Read;
use std::{collections::BTreeMap, env, path::Path};

/// More than any configuration needs, so that a wrong file is detected early.
#[cfg(feature = "config-files")]
const MAX_BYTES: u64 = 4 << 20;
/// The environment variable with the user's directory.
const HOME_VARIABLE: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// How errors name a configuration that is not from a file.
const CONFIGURATION: &str = "the configuration";

impl ServersConfig {
    /// Reads a configuration file such as `mcp.json`, with the environment of this process. Blocks
    /// while reading.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a configuration. An invalid entry is not an error
    /// here.
    #[cfg(feature = "config-files")]
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::from_file_with(path, &BTreeMap::new())
    }

    /// Reads a configuration file with values for its placeholders, such as `workspaceFolder` and
    /// `input:key`, which override the environment of this process.
    ///
    /// # Errors
    /// As for [`ServersConfig::from_file`].
    #[cfg(feature = "config-files")]
    pub fn from_file_with(path: impl AsRef<Path>, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::read(&json_file(path)?, &path.display().to_string(), &variable(variables))
    }

    /// Reads a configuration, with the environment of this process.
    ///
    /// # Errors
    /// If it is not a configuration. An invalid entry is not an error here.
    pub fn from_value(config: &Value) -> Result<Self, ConfigError> {
        Self::from_value_with(config, &BTreeMap::new())
    }

    /// Reads a configuration with values for its placeholders; see
    /// [`ServersConfig::from_file_with`].
    ///
    /// # Errors
    /// As for [`ServersConfig::from_value`].
    pub fn from_value_with(config: &Value, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        Self::read(config, CONFIGURATION, &variable(variables))
    }
}

impl ServerEntry {
    /// Reads a configuration file with a single server, with the environment of this process.
    /// Blocks while reading.
    ///
    /// # Errors
    /// If the file cannot be read, does not have exactly one server, or its entry is invalid.
    #[cfg(feature = "config-files")]
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        Self::from_file_with(path.as_ref(), &BTreeMap::new())
    }

    pub(super) fn from_file_with(path: &Path, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        ServersConfig::read_one(&json_file(path)?, &path.display().to_string(), &variable(variables))
    }

    /// Reads a server target: an entry, a configuration with one server or the name of its file, a
    /// URL, or a command as a list. Uses the environment of this process. Blocks while reading a
    /// file.
    ///
    /// # Errors
    /// If there is not exactly one server, or the entry is invalid.
    pub fn from_value(target: &Value) -> Result<Self, ConfigError> {
        Self::from_value_with(target, &BTreeMap::new())
    }

    /// The same with values for placeholders; see [`ServersConfig::from_file_with`].
    ///
    /// # Errors
    /// As for [`ServerEntry::from_value`].
    pub fn from_value_with(target: &Value, variables: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let wrong = |problem: &str| Err(ConfigError::new(CONFIGURATION, problem));
        match target {
            Value::String(text) if is_file(text) => Self::from_file_with(text.as_ref(), variables),
            Value::String(text) if text.contains(':') => Ok(Self::Url {
                url: text.clone(),
                shown_url: None,
                headers: BTreeMap::new(),
                http_sse: false,
                auth: None,
            }),
            Value::String(text) => wrong(&format!(
                "{text:?} is neither a URL nor a file with the extension .json; give the command of a server as a list"
            )),
            Value::Array(words) => {
                let words = words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                match words.filter(|words| words.first().is_some_and(|program| !program.is_empty())) {
                    Some(command) => Ok(Self::Command {
                        command,
                        env: BTreeMap::new(),
                        cwd: None,
                        inherit_env: None,
                        stderr: None,
                        stderr_file: None,
                    }),
                    None => wrong("a command is a list of strings, the program first"),
                }
            }
            _ => ServersConfig::read_one(target, CONFIGURATION, &variable(variables)),
        }
    }
}

/// Returns whether a string names a configuration file rather than a URL.
pub(super) fn is_file(target: &str) -> bool {
    let json = Path::new(target).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    json && !target.contains("://") && !target.starts_with("unix:")
}

#[cfg(not(feature = "config-files"))]
fn json_file(path: &Path) -> Result<Value, ConfigError> {
    let problem = "cannot be read: enable the feature `config-files` of the crate trunkline";
    Err(ConfigError::new(path.display().to_string(), problem.to_owned()))
}

#[cfg(feature = "config-files")]
fn json_file(path: &Path) -> Result<Value, ConfigError> {
    let failed = |problem: String| ConfigError::new(path.display().to_string(), problem);
    let mut text = Vec::new();
    let read = regular_file::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text));
    read.map_err(|error| failed(format!("cannot be read: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(format!("is larger than the limit of {} MiB", MAX_BYTES >> 20)));
    }
    json(&text).map_err(|error| failed(format!("is not JSON: {error}")))
}

/// Looks up placeholders: in the given values, then in the environment of this process.
fn variable(given: &BTreeMap<String, String>) -> impl Fn(&str) -> Option<String> {
    |name| given.get(name).cloned().or_else(|| env::var(if name == HOME { HOME_VARIABLE } else { name }).ok())
}

#[cfg(all(test, unix, feature = "full"))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_file_is_refused_without_waiting() {
        let path = env::temp_dir().join(format!("trunkline-pipe-{}.json", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let error = ServerEntry::from_file(&path).err().unwrap().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}
