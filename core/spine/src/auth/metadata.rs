//! The protected resource metadata document (RFC 9728).

use bytes::Bytes;
use serde_json::Value;
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

impl Metadata {
    pub(super) fn new(resource: &Url, document: &Value) -> Self {
        let path = resource.path().trim_end_matches('/');
        let [mut url, mut url_below] = [resource.clone(), resource.clone()];
        url.set_path(&format!("{WELL_KNOWN}{path}"));
        url_below.set_path(&format!("{path}{WELL_KNOWN}"));
        Self {
            document: document.to_string().into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aus_03_it_is_found_at_the_root_and_with_the_path_inserted() {
        let metadata = Metadata::new(&Url::parse("https://mcp.example/public/mcp").unwrap(), &Value::Null);
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
