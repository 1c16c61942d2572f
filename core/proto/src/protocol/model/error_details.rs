//! Details that errors carry in every language: of a failed connection, of the challenge of a
//! server, and of the input that a server needs.

use serde_json::Value;
use std::collections::BTreeMap;

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
        /// The reply is not a JSON-RPC message, or not a valid result of the method.
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

json_object! {
    /// Authorization challenge of a server that refused a request (RFC 6750 section 3, RFC 9728
    /// section 5.1).
    pub struct AuthorizationDemand {
        /// HTTP status of the refusal: 401, or 403 if the access token does not suffice. Absent if
        /// no credentials could be obtained and sent.
        optional http_status: u16 = "httpStatus",
        /// Code of the refusal, such as `invalid_token` or `insufficient_scope`.
        optional error: String = "error",
        /// Reason given by the server.
        optional error_description: String = "errorDescription",
        /// Scopes that the request needs.
        optional scopes: Vec<String> = "scopes",
        /// URL of the endpoint's metadata, which names its authorization servers.
        optional resource_metadata: String = "resourceMetadata",
        /// Values of `WWW-Authenticate` in the response (RFC 9110 section 11.6.1).
        optional challenges: Vec<String> = "challenges",
    }
}

json_object! {
    /// The input that a server needs before it can return a result (2026-07-28).
    pub struct RequiredInput {
        /// Requests, `{"method", "params"}`, by the keys of their responses. If absent, repeat the
        /// call unchanged.
        optional input_requests: BTreeMap<String, Value> = "inputRequests",
        /// State of the server, to be returned in the next round.
        optional request_state: String = "requestState",
    }
}
