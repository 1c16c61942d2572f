//! The protected resource metadata document (RFC 9728).

use super::Algorithm;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use url::Url;

/// The well-known prefix, which the path of the resource follows (RFC 9728 section 3).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The document, and the paths where it is served.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) document: Bytes,
    /// The URL that challenges name.
    pub(super) url: String,
    /// A URL below the resource, for an endpoint mounted under a prefix: the web framework only
    /// routes requests below the prefix to it, and a challenge may name any URL (RFC 9728 section
    /// 5.1).
    pub(super) url_below: String,
    /// The suffix of the well-known path: empty, or the path of the resource.
    resource_path: String,
}

/// The contents of the document.
pub(super) struct MetadataValues<'a> {
    pub(super) resource: &'a str,
    pub(super) authorization_servers: &'a [String],
    pub(super) scopes: &'a [String],
    /// The proof algorithms if tokens may be DPoP-bound, and whether they must be (XAU-71).
    pub(super) dpop: Option<(&'a [Algorithm], bool)>,
    /// Additional members such as `resource_name`; they take precedence.
    pub(super) more: &'a Map<String, Value>,
}

impl Metadata {
    /// Members that are set by other options.
    pub(super) const OWN_MEMBERS: [&str; 6] = [
        "resource",
        "authorization_servers",
        "bearer_methods_supported",
        "scopes_supported",
        "dpop_signing_alg_values_supported",
        "dpop_bound_access_tokens_required",
    ];

    pub(super) fn new(resource: &Url, contents: &MetadataValues<'_>) -> Self {
        let path = resource.path().trim_end_matches('/');
        let [mut url, mut url_below] = [resource.clone(), resource.clone()];
        url.set_path(&format!("{WELL_KNOWN}{path}"));
        url_below.set_path(&format!("{path}{WELL_KNOWN}"));
        Self {
            document: contents.to_json().into(),
            url: url.into(),
            url_below: url_below.into(),
            resource_path: path.to_owned(),
        }
    }

    /// Returns whether a web framework has stripped a prefix from the path of a request.
    pub(super) fn is_below(&self, path: &str) -> bool {
        path.trim_end_matches('/') != self.resource_path
    }

    /// Returns the document if a request asks for it: at the root, or with the well-known prefix
    /// before or after the path of the resource. `endpoint` is the path of the endpoint on this
    /// server, which a proxy may have changed.
    pub(super) fn at(&self, path: &str, endpoint: Option<&str>) -> Option<Bytes> {
        let path = path.trim_end_matches('/');
        let rest = path.strip_prefix(WELL_KNOWN).or_else(|| path.strip_suffix(WELL_KNOWN))?;
        let known = rest.is_empty() || rest == self.resource_path || Some(rest) == endpoint;
        known.then(|| self.document.clone())
    }
}

impl MetadataValues<'_> {
    fn to_json(&self) -> String {
        let mut document = json!({
            "resource": self.resource,
            "authorization_servers": self.authorization_servers,
            "bearer_methods_supported": ["header"],
        });
        if !self.scopes.is_empty() {
            document["scopes_supported"] = self.scopes.into();
        }
        if let Some((algorithms, required)) = self.dpop {
            let names: Vec<_> = algorithms.iter().map(|algorithm| algorithm.as_str()).collect();
            document["dpop_signing_alg_values_supported"] = names.into();
            document["dpop_bound_access_tokens_required"] = required.into();
        }
        for (name, value) in self.more {
            document[name.as_str()] = value.clone();
        }
        document.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(resource: &str, dpop: Option<(&[Algorithm], bool)>) -> Metadata {
        let more = json!({"resource_name": "Weather"});
        let contents = MetadataValues {
            resource,
            authorization_servers: &["https://auth.example".to_owned()],
            scopes: &["read".to_owned()],
            dpop,
            more: more.as_object().unwrap(),
        };
        Metadata::new(&Url::parse(resource).unwrap(), &contents)
    }

    #[test]
    fn aus_01_the_document_names_resource_and_authorization_servers() {
        let document: Value = serde_json::from_slice(&metadata("https://mcp.example/mcp", None).document).unwrap();
        assert_eq!(
            document,
            json!({"resource": "https://mcp.example/mcp", "authorization_servers": ["https://auth.example"],
                "bearer_methods_supported": ["header"], "scopes_supported": ["read"], "resource_name": "Weather"})
        );
    }

    #[test]
    fn xau_71_it_says_whether_tokens_are_bound() {
        let metadata = metadata("https://mcp.example", Some((&[Algorithm::Es256], true)));
        let document: Value = serde_json::from_slice(&metadata.document).unwrap();
        assert_eq!(document["dpop_signing_alg_values_supported"], json!(["ES256"]));
        assert_eq!(document["dpop_bound_access_tokens_required"], true);
    }

    #[test]
    fn aus_03_it_is_found_at_the_root_and_with_the_path_inserted() {
        let metadata = metadata("https://mcp.example/public/mcp", None);
        assert_eq!(metadata.url, "https://mcp.example/.well-known/oauth-protected-resource/public/mcp");
        for (path, found) in [
            ("/.well-known/oauth-protected-resource", true),
            ("/.well-known/oauth-protected-resource/", true),
            ("/.well-known/oauth-protected-resource/public/mcp", true),
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/mcp/.well-known/oauth-protected-resource", true),
            ("/public/mcp/.well-known/oauth-protected-resource", true),
            ("/other/.well-known/oauth-protected-resource", false),
            ("/.well-known/oauth-protected-resource/other", false),
            ("/.well-known/oauth-protected-resources", false),
            ("/.well-known/oauth-authorization-server", false),
            ("/public/mcp", false),
        ] {
            assert_eq!(metadata.at(path, Some("/mcp")).is_some(), found, "{path}");
        }
    }
}
