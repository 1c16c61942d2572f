//! The scopes to ask for.

use crate::auth::scopes::union;

/// The scope with which authorization servers give refresh tokens (OpenID Connect Core section 11).
const OFFLINE_ACCESS: &str = "offline_access";

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
    /// A refresh token is of use.
    pub(super) refreshes: bool,
}

impl Wanted<'_> {
    /// The scopes of a request; empty: the parameter is left out (AUC-40).
    pub(super) fn scopes(&self) -> Vec<String> {
        let first = match (self.challenged, self.earlier) {
            ([], []) => self.supported,
            (challenged, _) => challenged,
        };
        let mut scopes = union(self.earlier.iter().chain(first));
        let has = |scopes: &[String]| scopes.iter().any(|scope| scope == OFFLINE_ACCESS);
        // AUC-47: only where it is listed.
        if self.refreshes && has(self.listed) && !has(&scopes) && !scopes.is_empty() {
            scopes.push(OFFLINE_ACCESS.to_owned());
        }
        scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(challenged: &str, supported: &str, earlier: &str, listed: &str) -> String {
        let [challenged, supported, earlier, listed] = [challenged, supported, earlier, listed].map(split);
        let (challenged, supported, earlier, listed) = (&challenged[..], &supported[..], &earlier[..], &listed[..]);
        Wanted { challenged, supported, earlier, listed, refreshes: true }.scopes().join(" ")
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
    }
}
