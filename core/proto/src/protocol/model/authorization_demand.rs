//! The demands of a server that wants authorization, which the errors of every language carry.

json_object! {
    /// The demands of a server that refused a request for want of authorization, as far as they are
    /// known (RFC 6750 section 3, RFC 9728 section 5.1).
    pub struct AuthorizationDemand {
        /// The HTTP status of the refusal: 401, or 403 where the access token does not suffice.
        /// Absent if no credentials were got that could have been sent.
        optional http_status: u16 = "httpStatus",
        /// The code of the refusal, such as `invalid_token` or `insufficient_scope`.
        optional error: String = "error",
        /// The reason in the words of the server.
        optional error_description: String = "errorDescription",
        /// The scopes that the request needs.
        optional scopes: Vec<String> = "scopes",
        /// The URL of the metadata of the endpoint, which names its authorization servers.
        optional resource_metadata: String = "resourceMetadata",
        /// The values of `WWW-Authenticate` in the answer (RFC 9110 section 11.6.1).
        optional challenges: Vec<String> = "challenges",
    }
}
