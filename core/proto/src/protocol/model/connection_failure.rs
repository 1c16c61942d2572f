//! The details of a failed connection, which errors carry in every language.

crate::json_names! {
    /// The reason why a connection failed.
    pub enum FailureReason, by default Broken {
        /// The server process could not be started.
        NotStarted = "notStarted",
        /// Nothing listens at the address.
        Refused = "refused",
        /// The address could not be reached: the name is unknown, there is no route, a proxy
        /// failed, or there was no reply in time.
        Unreachable = "unreachable",
        /// The TLS connection failed: the certificate is untrusted or for another name, or the
        /// server does not support TLS.
        Tls = "tls",
        /// The server replied with an HTTP error status.
        Status = "status",
        /// The server process ended.
        Exited = "exited",
        /// The connection broke, or a message could not be read.
        Broken = "broken",
        /// The server no longer knows the session, and did not open another one.
        SessionLost = "sessionLost",
        /// The reply is not a valid result of the method.
        InvalidResponse = "invalidResponse",
        /// Another program is listening at the listener's address.
        AddressInUse = "addressInUse",
        /// The listener's address is not available: it does not belong to this machine, or the
        /// process may not listen there.
        AddressUnavailable = "addressUnavailable",
    }
}

json_object! {
    /// Details of a failed connection, or of a listener that could not be opened.
    pub struct ConnectionFailure {
        /// The reason.
        optional reason: FailureReason = "reason",
        /// Name of the system error, the same on every system: `ECONNREFUSED`, `EADDRINUSE`,
        /// `EADDRNOTAVAIL`, `EACCES`.
        optional code: String = "code",
        /// HTTP status of the response.
        optional http_status: u16 = "httpStatus",
        /// Values of `WWW-Authenticate` in the response (RFC 9110 section 11.6.1).
        optional challenges: Vec<String> = "challenges",
        /// Exit status of the server process.
        optional exit_code: i64 = "exitCode",
        /// Number of the signal that ended the server process.
        optional signal: i64 = "signal",
        /// The last lines that the server process wrote to its standard error.
        optional stderr: Vec<String> = "stderr",
    }
}
