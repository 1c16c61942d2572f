//! The scopes to ask for.

use crate::auth::scopes::union;

/// The scope with which authorization servers give refresh tokens (OpenID Connect Core section 11).
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// The scopes of a text, divided by blanks.
pub(super) fn split(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The facts that decide about scopes.
pub(super) struct Wanted<'a> {
    /// Of the challenge: authoritative for the operation (AUC-41).
    pub(super) challenged: &'a [String],
    /// Of the resource's metadata.
    pub(super) supported: &'a [String],
    /// Asked for before, which a step up keeps (AUC-44).
    pub(super) earlier: &'a [String],
    /// The scopes that the authorization server lists.
    pub(super) listed: &'a [String],
    /// Access is wanted while the user is away.
    pub(super) offline: bool,
}

impl Wanted<'_> {
    /// The scopes of a request; empty: the parameter is left out (AUC-40). `true`: `offline_access`
    /// is among them only because the client wants it.
    pub(super) fn scopes(&self) -> (Vec<String>, bool) {
        let first = match (self.challenged, self.earlier) {
            ([], []) => self.supported,
            (challenged, _) => challenged,
        };
        let mut scopes = union(self.earlier.iter().chain(first));
        let has = |scopes: &[String]| scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
        // AUC-47: only where it is listed. A step up does without it if the login did.
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
        // A demand of the server is not a wish of the client.
        assert!(wanted("read", "", "", "offline_access", true).1);
        assert!(!wanted("read offline_access", "", "", "offline_access", true).1);
    }
}
