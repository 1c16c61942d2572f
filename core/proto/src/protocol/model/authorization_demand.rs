//! A server's authorization challenge, which errors carry in every language.

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
