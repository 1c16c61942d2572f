//! Names stored on behalf of a client: subscribed URIs, tasks and elicitations.

use super::name_budget::NameBudget;
use crate::protocol::RpcError;
use std::{collections::BTreeSet, sync::Arc};

/// Maximum number of names per session or stream, and their maximum total size.
const MAX: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;
/// Overhead per name.
const ENTRY: usize = 128;

/// A bounded set of names. It also counts towards the budget of the server.
pub(super) struct Names {
    budget: Arc<NameBudget>,
    /// Allocated with the first name, because most clients subscribe to nothing.
    kept: Option<Box<KeptNames>>,
}

#[derive(Default)]
struct KeptNames {
    set: BTreeSet<String>,
    bytes: usize,
    /// The client whose share they count towards.
    client: Option<Arc<str>>,
}

impl Names {
    pub(super) fn new(budget: &Arc<NameBudget>) -> Self {
        Self { budget: Arc::clone(budget), kept: None }
    }

    /// Charges new names to a client. Existing names remain charged as before.
    pub(super) fn of(&mut self, client: Option<Arc<str>>) -> &mut Self {
        let kept = self.kept.get_or_insert_default();
        if kept.set.is_empty() {
            kept.client = client;
        }
        self
    }

    /// Adds a name.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub(super) fn insert(&mut self, name: &str) -> Result<(), RpcError> {
        let kept = self.kept.get_or_insert_default();
        if kept.set.contains(name) {
            return Ok(());
        }
        let bytes = kept.bytes.saturating_add(name.len());
        if kept.set.len() >= MAX || bytes > MAX_BYTES {
            let text = format!("at most {MAX} names with {MAX_BYTES} bytes in total are kept for one client");
            return Err(RpcError::busy(&text));
        }
        self.budget.take(kept.client.as_ref(), name.len() + ENTRY)?;
        kept.bytes = bytes;
        kept.set.insert(name.to_owned());
        Ok(())
    }

    /// Adds a name that another process has already admitted.
    pub(super) fn adopt(&mut self, name: &str) {
        let kept = self.kept.get_or_insert_default();
        if kept.set.insert(name.to_owned()) {
            kept.bytes += name.len();
            self.budget.add(kept.client.as_ref(), name.len() + ENTRY);
        }
    }

    /// Removes a name. Returns `false` if it was not in the set.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(kept) = &mut self.kept else { return false };
        let removed = kept.set.remove(name);
        if removed {
            kept.bytes -= name.len();
            self.budget.give_back(kept.client.as_ref(), name.len() + ENTRY);
        }
        removed
    }

    /// Removes all other names.
    pub(super) fn retain(&mut self, kept: &BTreeSet<String>) {
        let over: Vec<_> = self.set().difference(kept).cloned().collect();
        for name in over {
            self.remove(&name);
        }
    }

    /// The names.
    pub(super) fn set(&self) -> &BTreeSet<String> {
        const NONE: &BTreeSet<String> = &BTreeSet::new();
        self.kept.as_ref().map_or(NONE, |kept| &kept.set)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.as_ref().filter(|kept| !kept.set.is_empty()) {
            self.budget.give_back(kept.client.as_ref(), kept.bytes + ENTRY * kept.set.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_number_and_in_bytes() {
        let budget = NameBudget::new(64 << 20);
        let mut names = Names::new(&budget);
        (0..MAX).for_each(|number| names.insert(&number.to_string()).unwrap());
        assert!(names.insert("one more").unwrap_err().is_busy());
        names.insert("7").unwrap();
        assert!(names.remove("7") && !names.remove("7"));
        names.insert("one more").unwrap();

        let mut names = Names::new(&budget);
        names.insert(&"x".repeat(MAX_BYTES - 1)).unwrap();
        assert!(names.insert("xx").is_err());
        names.insert("y").unwrap();
        assert!(names.remove("y") && names.insert("z").is_ok());
    }

    #[test]
    fn names_of_all_clients_are_bounded_together_and_each_has_a_share() {
        const ONE: usize = 1000 - ENTRY;
        let budget = NameBudget::new(4000);
        let named = |client: Option<&str>| {
            let mut names = Names::new(&budget);
            names.of(client.map(Arc::from));
            names
        };
        let (mut ada, mut again, mut bob, mut nobody) =
            (named(Some("ada")), named(Some("ada")), named(Some("bob")), named(None));
        ada.insert(&"a".repeat(ONE)).unwrap();
        ada.insert(&"a".repeat(ONE)).unwrap();
        assert!(again.insert("b").unwrap_err().is_busy(), "a quarter for one client, whatever its sessions");
        bob.insert(&"b".repeat(ONE)).unwrap();
        nobody.insert(&"c".repeat(2 * ONE + ENTRY)).unwrap();
        assert!(named(Some("eve")).insert("e").unwrap_err().is_busy(), "there is no budget for anyone");
        nobody.adopt("from another process");
        assert_eq!(budget.bytes(), 4000 + "from another process".len() + ENTRY);
        ada.retain(&BTreeSet::new());
        drop(nobody);
        again.insert(&"b".repeat(ONE)).unwrap();
        drop((ada, again, bob));
        assert_eq!(budget.bytes(), 0);
    }
}
