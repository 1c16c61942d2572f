//! The facts that tokens of a program are asked for with.

use serde::Serialize;

trunkline_proto::described! {
    /// A request that needs an access token.
    #[derive(Serialize)]
    pub struct TokenRequest {
        /// The URL of the server.
        required url: String = "url",
        /// The server has refused the last token.
        required refused: bool = "refused",
    }
}

trunkline_proto::described! {
    /// The need for an ID token of the user: the sign-on itself is the program's.
    #[derive(Serialize)]
    pub struct IdentityTokenRequest {
        /// The token endpoint of the identity provider.
        required token_endpoint: String = "tokenEndpoint",
    }
}

trunkline_proto::described! {
    /// The facts that the assertion of a workload is made for.
    #[derive(Serialize)]
    pub struct AssertionRequest {
        /// The issuer of the authorization server: the audience.
        required issuer: String = "issuer",
        /// Its token endpoint.
        required token_endpoint: String = "tokenEndpoint",
        /// The identifier of the MCP server.
        required resource: String = "resource",
    }
}
