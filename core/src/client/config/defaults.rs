//! Defaults for the servers of a configuration or a group.

use std::collections::BTreeMap;

trunkline_proto::options! {
    /// The options of transports for the servers of a configuration or a group that leave them
    /// open: those of programs for programs, those of HTTP for URLs.
    ///
    /// ```
    /// use trunkline::{ClientOptions, client::ServerDefaults};
    ///
    /// let quiet = ServerDefaults::default().with_stderr("keep");
    /// let options = ClientOptions::default().with_server_defaults(quiet);
    /// ```
    #[derive(Clone, PartialEq, Eq)]
    pub struct ServerDefaults {
        /// Environment variables of programs. An entry's own come first.
        @into env: BTreeMap<String, String> => "env" = BTreeMap::new(),
        /// The working directory of programs.
        @some(String) cwd: Option<String> => "cwd" = None,
        /// Give programs the whole environment of this process.
        @into inherit_env: Option<bool> => "inheritEnv" = None,
        /// The destination of the standard error of programs: `inherit`, `keep` or `discard`.
        @some(String) stderr: Option<String> => "stderr" = None,
        /// A file for the standard error of programs.
        @some(String) stderr_file: Option<String> => "stderrFile" = None,
        /// Headers of each request over HTTP. An entry's own come first.
        @into headers: BTreeMap<String, String> => "headers" = BTreeMap::new(),
        /// Certificates in PEM that are trusted besides those of the system, for `https://`.
        @some(String) ca: Option<String> => "ca" = None,
        /// The certificate of the client in PEM, for `https://`.
        @some(String) client_certificate: Option<String> => "clientCertificate" = None,
        /// The private key of that certificate, in PEM.
        @some(String) client_key: Option<String> => "clientKey" = None,
        /// The URL of a proxy to servers that are not on this machine.
        @some(String) proxy: Option<String> => "proxy" = None,
    }
}

impl ServerDefaults {
    /// Judges the defaults.
    ///
    /// # Errors
    /// The reason, which names the option.
    #[doc(hidden)]
    pub fn check(&self, is_group: bool) -> Result<(), String> {
        let wrong = |word: &&String| !super::entry::DESTINATIONS.contains(&word.as_str());
        if let Some(word) = self.stderr.as_ref().filter(wrong) {
            return Err(format!("stderr: {word:?} is not one of {}", super::entry::DESTINATIONS.join(", ")));
        }
        if is_group && self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            let text = "headers: Authorization is for one server, and a group would send it to all: write it into the \
                        headers of the server's entry";
            return Err(text.to_owned());
        }
        Ok(())
    }
}

/// Without what may be secret.
impl std::fmt::Debug for ServerDefaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerDefaults").finish_non_exhaustive()
    }
}
