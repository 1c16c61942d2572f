//! The arguments of the program's token functions.

use serde::Serialize;

trunkline_proto::described! {
    /// A request that needs an access token.
    #[derive(Serialize)]
    pub struct TokenRequest {
        /// URL of the server.
        required url: String = "url",
        /// True if the server rejected the last token.
        required refused: bool = "refused",
    }

    /// A request for an ID token of the user. The program implements the sign-on itself.
    #[derive(Serialize)]
    pub struct IdentityTokenRequest {
        /// Token endpoint of the identity provider.
        required token_endpoint: String = "tokenEndpoint",
    }

    /// A request for an assertion of a workload.
    #[derive(Serialize)]
    pub struct AssertionRequest {
        /// Issuer of the authorization server, which is the audience.
        required issuer: String = "issuer",
        /// Token endpoint of the authorization server.
        required token_endpoint: String = "tokenEndpoint",
        /// Identifier of the MCP server.
        required resource: String = "resource",
    }
}
