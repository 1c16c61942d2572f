//! Which scopes to request.

use crate::auth::scopes::union;

/// The scope that makes authorization servers issue refresh tokens (OpenID Connect Core section
/// 11).
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// The scope that ID tokens need (OpenID Connect Core section 3.1.2.1).
pub(super) const OPENID: &str = "openid";

/// Splits a space-separated list of scopes.
pub(super) fn split(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The inputs of the decision.
pub(super) struct Wanted<'a> {
    /// From the challenge; authoritative for the operation (AUC-41).
    pub(super) challenged: &'a [String],
    /// From the resource's metadata.
    pub(super) supported: &'a [String],
    /// Requested before; a step-up keeps them (AUC-44).
    pub(super) earlier: &'a [String],
    /// Supported by the authorization server.
    pub(super) listed: &'a [String],
    /// True if the client wants access while the user is away.
    pub(super) offline: bool,
}

impl Wanted<'_> {
    /// The scopes to request; if empty, the parameter is omitted (AUC-40). The boolean tells
    /// whether `offline_access` was added only because the client wants it.
    pub(super) fn scopes(&self) -> (Vec<String>, bool) {
        let first = match (self.challenged, self.earlier) {
            ([], []) => self.supported,
            (challenged, _) => challenged,
        };
        let mut scopes = union(self.earlier.iter().chain(first));
        let has = |scopes: &[String]| scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
        // AUC-47: only if the server supports it. A step-up omits it if the login did.
        let added = self.offline && self.earlier.is_empty() && has(self.listed) && !has(&scopes) && !scopes.is_empty();
        if added {
            scopes.push(OFFLINE_ACCESS.to_owned());
        }
        (scopes, added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(challenged: &str, supported: &str, earlier: &str, listed: &str, offline: bool) -> (String, bool) {
        let [challenged, supported, earlier, listed] = [challenged, supported, earlier, listed].map(split);
        let (challenged, supported, earlier, listed) = (&challenged[..], &supported[..], &earlier[..], &listed[..]);
        let (scopes, added) = Wanted { challenged, supported, earlier, listed, offline }.scopes();
        (scopes.join(" "), added)
    }

    fn scopes(challenged: &str, supported: &str, earlier: &str, listed: &str) -> String {
        wanted(challenged, supported, earlier, listed, true).0
    }

    #[test]
    fn auc_40_to_44_and_auc_47_the_order_of_scopes() {
        assert_eq!(scopes("write", "read all", "", ""), "write");
        assert_eq!(scopes("", "read all", "", ""), "read all");
        assert_eq!(scopes("", "", "", "offline_access"), "");
        assert_eq!(scopes("write read", "all", "read", ""), "read write");
        assert_eq!(scopes("", "all", "read", ""), "read");
        assert_eq!(scopes("read", "", "", "read offline_access"), "read offline_access");
        assert_eq!(scopes("read offline_access", "", "", "offline_access"), "read offline_access");
        assert_eq!(scopes("write", "", "read", "offline_access"), "read write");
        assert_eq!(scopes("write", "", "read offline_access", "offline_access"), "read offline_access write");
        assert_eq!(wanted("read", "", "", "offline_access", false), ("read".to_owned(), false));
        // The server requires it, rather than the client wanting it.
        assert!(wanted("read", "", "", "offline_access", true).1);
        assert!(!wanted("read offline_access", "", "", "offline_access", true).1);
    }
}
