//! Finds the authorization server of an MCP server (RFC 9728, RFC 8414, OpenID Connect Discovery),
//! in the order of the specification's page "Authorization Server Discovery".

use super::{
    auth_network::{NetworkContext, check, split},
    observer::Clause,
    sanitized,
};
use crate::{auth::issuer_discovery::metadata_paths, client_auth::AuthError};
use serde::{Deserialize, Deserializer};

/// The parts of the resource metadata that a client needs (RFC 9728 section 2).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(deserialize_with = "or_default")]
    authorization_servers: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    scopes_supported: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    dpop_bound_access_tokens_required: bool,
}

/// The metadata of an authorization server (RFC 8414 section 2).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServerMetadata {
    #[serde(deserialize_with = "or_default")]
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    pub(super) token_endpoint: Option<String>,
    pub(super) registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    /// RFC 8628 section 4.
    pub(super) device_authorization_endpoint: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(super) scopes_supported: Vec<String>,
    pub(super) grant_types_supported: Option<Vec<String>>,
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    pub(super) dpop_signing_alg_values_supported: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(deserialize_with = "or_default")]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// Reads a member that some servers write as null instead of omitting it.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The result of discovery.
#[derive(Debug, Clone)]
pub(super) struct Discovered {
    /// The resource identifier of the server (RFC 8707), as received.
    pub(super) resource: String,
    pub(super) scopes_supported: Vec<String>,
    pub(super) dpop_required: bool,
    pub(super) server: ServerMetadata,
}

/// The authorization server metadata that a grant needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needed<'a> {
    /// The page where users log in.
    pub(super) page: bool,
    /// Advertised support for PKCE.
    pub(super) pkce: bool,
    /// The page where users enter a code.
    pub(super) device: bool,
    /// The token endpoint, if the program names it: that in the metadata does not count.
    pub(super) token_endpoint: Option<&'a str>,
}

impl Needed<'_> {
    /// A token endpoint.
    pub(super) const TOKENS: Self = Self { page: false, pkce: false, device: false, token_endpoint: None };

    fn is_met(self, server: &ServerMetadata) -> bool {
        self.token_endpoint.or(server.token_endpoint.as_deref()).is_some()
            && (!self.page || server.authorization_endpoint.is_some())
            && (!self.pkce || server.has_pkce())
            && (!self.device || server.device_authorization_endpoint.is_some())
    }

    /// The metadata with the token endpoint that the program names.
    fn completed(self, server: ServerMetadata) -> ServerMetadata {
        let token_endpoint = self.token_endpoint.map(str::to_owned).or(server.token_endpoint);
        ServerMetadata { token_endpoint, ..server }
    }

    /// An authorization server without metadata, which is enough for a grant without a page.
    fn without_metadata(self, issuer: &str) -> Option<ServerMetadata> {
        let is_enough = self.token_endpoint.is_some() && !self.page && !self.device;
        is_enough.then(|| self.completed(ServerMetadata { issuer: issuer.to_owned(), ..ServerMetadata::default() }))
    }
}

impl ResourceMetadata {
    /// Checks that the document at `candidate` is that of the server at `url` (AUC-10), and chooses
    /// its authorization server.
    fn of(self, url: &str, candidate: &str, known: Option<&str>) -> Result<(Self, String), AuthError> {
        let (at, server) = (sanitized(candidate), sanitized(url));
        if !self.resource.as_deref().is_some_and(|resource| names(resource, url)) {
            return Err(AuthError(format!("The metadata at {at} is for another resource than {server}")));
        }
        let missing = || AuthError(format!("The metadata at {at} lists no authorization server"));
        let listed = &self.authorization_servers;
        let is_known = |issuer: &&String| known.is_some_and(|known| is_same_issuer(known, issuer));
        let issuer = listed.iter().find(is_known).or(listed.first()).ok_or_else(missing)?.clone();
        Ok((self, issuer))
    }
}

impl ServerMetadata {
    pub(super) fn has_pkce(&self) -> bool {
        self.code_challenge_methods_supported.iter().flatten().any(|method| method == "S256")
    }
}

/// Returns whether two issuers are the same. The root can be written with or without a slash, and
/// some servers write both.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    let of_root =
        |issuer: &str| split(issuer).is_some_and(|(origin, path)| path == "/" && issuer.len() == origin.len() + 1);
    let bare = |issuer: &str| issuer.len() - usize::from(of_root(issuer));
    one[..bare(one)] == other[..bare(other)]
}

/// Finds the authorization server of the MCP server at `url`. `metadata_url` comes from the
/// challenge. Of several authorization servers, the `known` one is chosen, or else the first (RFC
/// 9728 section 7.6).
pub(super) async fn discover(
    network: &NetworkContext,
    url: &str,
    metadata_url: Option<&str>,
    known: Option<&str>,
    needed: Needed<'_>,
) -> Result<Discovered, AuthError> {
    let (origin, path) = split(url).ok_or_else(|| AuthError(format!("{} is not a server URL", sanitized(url))))?;
    let mut problem = None;
    for candidate in resource_metadata_urls(origin, path, metadata_url) {
        let Some(metadata) = network.document::<ResourceMetadata>(&candidate, Clause::RESOURCE).await? else {
            continue;
        };
        match metadata.and_then(|metadata| metadata.of(url, &candidate, known)) {
            Ok((metadata, issuer)) => {
                return Ok(Discovered {
                    resource: metadata.resource.unwrap_or_default(),
                    scopes_supported: metadata.scopes_supported,
                    dpop_required: metadata.dpop_bound_access_tokens_required,
                    server: server_metadata(network, &issuer, needed).await?,
                });
            }
            Err(error) => drop(problem.get_or_insert(error)),
        }
    }
    let named = metadata_url
        .map(|named| AuthError(format!("There is no metadata at {}, the URL that the server gave", sanitized(named))));
    if let Some(problem) = problem.or(named) {
        return Err(problem);
    }
    Ok(Discovered {
        resource: canonical(url),
        scopes_supported: Vec::new(),
        dpop_required: false,
        server: needed.completed(legacy(network, origin).await?),
    })
}

/// AUC-02, AUC-03: the URL in the challenge, or else, also if there is nothing, the well-known URLs
/// with the path of the server and at the root.
fn resource_metadata_urls(origin: &str, path: &str, named: Option<&str>) -> Vec<String> {
    let well_known = format!("{origin}/.well-known/oauth-protected-resource");
    let with_path = match path.trim_end_matches('/') {
        "" => None,
        path => Some(format!("{well_known}{path}")),
    };
    named.map(str::to_owned).into_iter().chain(with_path).chain([well_known]).collect()
}

/// AUC-10: the metadata must be that of this server, or of a parent path on the same origin.
fn names(resource: &str, url: &str) -> bool {
    let (Ok(resource), Ok(url)) = (url::Url::parse(resource), url::Url::parse(url)) else { return false };
    let rest = url.path().strip_prefix(resource.path().trim_end_matches('/'));
    resource.origin() == url.origin()
        && resource.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// AUC-26, AUC-27: the URL without its fragment, and without the slash of an empty path.
fn canonical(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    match split(url) {
        Some((origin, "/")) if url.len() == origin.len() + 1 => origin.to_owned(),
        _ => url.to_owned(),
    }
}

/// Fetches the metadata of an issuer: the first document with what is needed, or else the first
/// one. Its `issuer` must match, up to the slash of its root (AUC-09, RFC 8414 section 3.3).
pub(super) async fn server_metadata(
    network: &NetworkContext,
    issuer: &str,
    needed: Needed<'_>,
) -> Result<ServerMetadata, AuthError> {
    check(issuer)?;
    let (mut first, mut problem) = (None, None);
    for candidate in server_metadata_urls(issuer)? {
        let Some(metadata) = network.document::<ServerMetadata>(&candidate, Clause::SERVER).await? else { continue };
        match metadata {
            Ok(metadata) if !is_same_issuer(&metadata.issuer, issuer) => {
                let (at, other, issuer) = (sanitized(&candidate), sanitized(&metadata.issuer), sanitized(issuer));
                let text = format!("The metadata at {at} is for the issuer {other:?}, not {issuer:?}");
                problem.get_or_insert(AuthError(text));
            }
            Ok(metadata) if needed.is_met(&metadata) => return Ok(needed.completed(metadata)),
            Ok(metadata) => first = first.or(Some(metadata)),
            Err(error) => drop(problem.get_or_insert(error)),
        }
    }
    let missing = || format!("The authorization server {} has no metadata at its well-known URLs", sanitized(issuer));
    match (first, problem) {
        (Some(first), _) => Ok(needed.completed(first)),
        (None, Some(problem)) => Err(problem),
        (None, None) => needed.without_metadata(issuer).ok_or_else(|| AuthError(missing())),
    }
}

/// AUC-06 to AUC-08: the URLs where the metadata of an issuer may be, in the order to try.
fn server_metadata_urls(issuer: &str) -> Result<Vec<String>, AuthError> {
    let bad =
        || AuthError(format!("{} is not an issuer: it must be a URL without query and fragment", sanitized(issuer)));
    let (origin, path) = split(issuer).filter(|_| !issuer.contains(['?', '#'])).ok_or_else(bad)?;
    Ok(metadata_paths(path).map(|path| format!("{origin}{path}")).collect())
}

/// AUC-05, AUC-11, AUC-12: servers of 2025-03-26 are their own authorization servers, with metadata
/// at the root or with endpoints at fixed paths.
async fn legacy(network: &NetworkContext, origin: &str) -> Result<ServerMetadata, AuthError> {
    let candidate = format!("{origin}/.well-known/oauth-authorization-server");
    if let Some(metadata) = network.document::<ServerMetadata>(&candidate, Clause::SERVER).await?.transpose()? {
        if !is_same_issuer(&metadata.issuer, origin) {
            let (at, other) = (sanitized(&candidate), sanitized(&metadata.issuer));
            return Err(AuthError(format!("The metadata at {at} is for another issuer, {other:?}")));
        }
        return Ok(metadata);
    }
    Ok(ServerMetadata {
        issuer: origin.to_owned(),
        authorization_endpoint: Some(format!("{origin}/authorize")),
        token_endpoint: Some(format!("{origin}/token")),
        registration_endpoint: Some(format!("{origin}/register")),
        code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
        token_endpoint_auth_methods_supported: Some(vec!["none".to_owned()]),
        ..ServerMetadata::default()
    })
}

#[cfg(test)]
mod tests;
