//! The facts of a failed connection, which the errors of every language carry.

json_names! {
    /// The reason of a failed connection.
    pub enum FailureReason, by default Broken {
        /// The server process could not be started.
        NotStarted = "notStarted",
        /// Nothing listens at the address.
        Refused = "refused",
        /// The address was not reached: an unknown name, no route, a proxy that failed, or no
        /// answer in time.
        Unreachable = "unreachable",
        /// No TLS: a certificate that is not trusted or is for another name, or a server without
        /// TLS.
        Tls = "tls",
        /// An HTTP status in place of an answer.
        Status = "status",
        /// The server process ended.
        Exited = "exited",
        /// The connection broke off, or a message could not be read.
        Broken = "broken",
        /// The server does not know the session any more, and did not open another one.
        SessionLost = "sessionLost",
        /// The answer is not a result of the method.
        InvalidResponse = "invalidResponse",
        /// Another program listens at the address of the listener.
        AddressInUse = "addressInUse",
        /// The address of the listener cannot be had: it is not one of this machine, or this
        /// process may not listen there.
        AddressUnavailable = "addressUnavailable",
    }
}

json_object! {
    /// The facts of a failed connection or of a listener that could not be opened, as far as they
    /// are known.
    pub struct ConnectionFailure {
        /// The reason.
        optional reason: FailureReason = "reason",
        /// The name of the system's error, the same on every system: `ECONNREFUSED`, `EADDRINUSE`,
        /// `EADDRNOTAVAIL`, `EACCES`.
        optional code: String = "code",
        /// The HTTP status of the answer.
        optional http_status: u16 = "httpStatus",
        /// The values of `WWW-Authenticate` in the answer (RFC 9110 section 11.6.1).
        optional challenges: Vec<String> = "challenges",
        /// The exit status of the server process.
        optional exit_code: i64 = "exitCode",
        /// The number of the signal that ended the server process.
        optional signal: i64 = "signal",
        /// The last lines that the server process wrote to its standard error.
        optional stderr: Vec<String> = "stderr",
    }
}
