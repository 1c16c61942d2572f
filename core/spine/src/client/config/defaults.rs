//! Defaults for the servers of a configuration or a group.

use std::collections::BTreeMap;

trunkline_proto::options! {
    /// Default transport options for the servers of a configuration or a group: process options
    /// apply to commands, HTTP options to URLs.
    ///
    /// ```
    /// use trunkline::{ClientOptions, client::ServerDefaults};
    ///
    /// let quiet = ServerDefaults::default().with_stderr("keep");
    /// let options = ClientOptions::default().with_server_defaults(quiet);
    /// ```
    #[derive(Clone, PartialEq, Eq)]
    pub struct ServerDefaults {
        /// Environment variables of child processes. Those of an entry take precedence.
        @into env: BTreeMap<String, String> => "env" = BTreeMap::new(),
        /// The working directory of child processes.
        @some(String) cwd: Option<String> => "cwd" = None,
        /// Pass the whole environment of this process to child processes.
        @into inherit_env: Option<bool> => "inheritEnv" = None,
        /// Where the stderr of child processes goes: `inherit`, `keep` or `discard`.
        @some(String) stderr: Option<String> => "stderr" = None,
        /// A file for the stderr of child processes.
        @some(String) stderr_file: Option<String> => "stderrFile" = None,
        /// Headers of each HTTP request. Those of an entry take precedence.
        @into headers: BTreeMap<String, String> => "headers" = BTreeMap::new(),
        /// Trusted certificates in PEM, in addition to those of the system, for `https://`.
        @some(String) ca: Option<String> => "ca" = None,
        /// The client certificate in PEM, for `https://`.
        @some(String) client_certificate: Option<String> => "clientCertificate" = None,
        /// The private key of that certificate, in PEM.
        @some(String) client_key: Option<String> => "clientKey" = None,
        /// The URL of a proxy for servers that are not on this machine.
        @some(String) proxy: Option<String> => "proxy" = None,
    }
}

impl ServerDefaults {
    /// Validates the defaults.
    ///
    /// # Errors
    /// The reason, which names the option.
    #[doc(hidden)]
    pub fn check(&self, is_group: bool) -> Result<(), String> {
        let wrong = |word: &&String| !super::server_entry::DESTINATIONS.contains(&word.as_str());
        if let Some(word) = self.stderr.as_ref().filter(wrong) {
            return Err(format!("stderr: {word:?} is not one of {}", super::server_entry::DESTINATIONS.join(", ")));
        }
        if is_group && self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            let text = "headers: Authorization is for one server, and a group would send it to all: put it in the headers of the server's entry";
            return Err(text.to_owned());
        }
        Ok(())
    }
}

/// Omits anything that may be secret.
impl std::fmt::Debug for ServerDefaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerDefaults").finish_non_exhaustive()
    }
}
