//! Scopes.

use std::collections::{BTreeMap, HashSet};

/// Scopes that imply others (AUS-12).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hierarchy(pub(super) BTreeMap<String, Vec<String>>);

impl Hierarchy {
    /// All scopes that it mentions.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.iter().flat_map(|(broad, narrow)| std::iter::once(broad).chain(narrow))
    }

    /// Returns whether the granted scopes include all needed ones, directly or by implication.
    pub(super) fn covers(&self, granted: &[String], needed: &[String]) -> bool {
        if needed.is_empty() {
            return true;
        }
        let mut held: HashSet<&str> = granted.iter().map(String::as_str).collect();
        let mut unread: Vec<&str> = held.iter().copied().collect();
        while let Some(scope) = unread.pop() {
            let implied = self.0.get(scope).into_iter().flatten();
            unread.extend(implied.map(String::as_str).filter(|scope| held.insert(scope)));
        }
        needed.iter().all(|scope| held.contains(scope.as_str()))
    }
}

/// All scopes without duplicates, in order of first occurrence.
pub(super) fn union<'a>(scopes: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut seen = HashSet::new();
    scopes.into_iter().filter(|scope| seen.insert(scope.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|&scope| scope.to_owned()).collect()
    }

    #[test]
    fn aus_12_broad_scopes_imply_narrow_ones_transitively_and_cycles_end() {
        let hierarchy = Hierarchy(BTreeMap::from([
            ("admin".to_owned(), list(&["write"])),
            ("write".to_owned(), list(&["read", "admin-no-more"])),
            ("read".to_owned(), list(&["write"])),
        ]));
        assert!(hierarchy.covers(&list(&["admin"]), &list(&["read", "admin"])));
        assert!(hierarchy.covers(&list(&["read"]), &list(&["write"])));
        assert!(!hierarchy.covers(&list(&["write"]), &list(&["admin"])));
        assert!(!hierarchy.covers(&[], &list(&["read"])));
        assert!(hierarchy.covers(&[], &[]));
        assert!(!Hierarchy::default().covers(&list(&["admin"]), &list(&["read"])));
    }
}
