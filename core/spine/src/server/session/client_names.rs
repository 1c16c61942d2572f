//! Names stored on behalf of a client: subscribed URIs, tasks and elicitations.

use super::name_budget::NameBudget;
use crate::protocol::RpcError;
use std::{collections::BTreeSet, sync::Arc};

/// Maximum number of names per session or stream, and their maximum total size.
const MAX: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;
/// Added to the length of each name, in bytes.
const NAME_OVERHEAD: usize = 128;

/// A bounded set of names.
#[derive(Default)]
pub(super) struct Names(
    /// Allocated for the first name, because most clients subscribe to nothing.
    Option<Box<KeptNames>>,
);

/// The names of a set. They also count towards the budget of the server.
pub(super) struct KeptNames {
    budget: Arc<NameBudget>,
    set: BTreeSet<String>,
    bytes: usize,
    /// The client whose share they count towards.
    client: Option<Arc<str>>,
}

impl Names {
    /// The set, for adding names that count towards this budget.
    pub(super) fn within(&mut self, budget: &Arc<NameBudget>) -> &mut KeptNames {
        self.0.get_or_insert_with(|| {
            let (budget, set) = (Arc::clone(budget), BTreeSet::new());
            Box::new(KeptNames { budget, set, bytes: 0, client: None })
        })
    }

    /// Removes a name. Returns `false` if it was not in the set.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(kept) = &mut self.0 else { return false };
        let removed = kept.set.remove(name);
        if removed {
            kept.bytes -= name.len();
            kept.budget.give_back(kept.client.as_ref(), name.len() + NAME_OVERHEAD);
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
        self.0.as_ref().map_or(NONE, |kept| &kept.set)
    }
}

impl KeptNames {
    /// Charges new names to a client. Existing names remain charged as before.
    pub(super) fn of(&mut self, client: Option<Arc<str>>) -> &mut Self {
        if self.set.is_empty() {
            self.client = client;
        }
        self
    }

    /// Adds a name.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub(super) fn insert(&mut self, name: &str) -> Result<(), RpcError> {
        if self.set.contains(name) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(name.len());
        if self.set.len() >= MAX || bytes > MAX_BYTES {
            let text = format!("at most {MAX} names with {MAX_BYTES} bytes in total are kept for one client");
            return Err(RpcError::busy(&text));
        }
        self.budget.take(self.client.as_ref(), name.len() + NAME_OVERHEAD)?;
        self.bytes = bytes;
        self.set.insert(name.to_owned());
        Ok(())
    }

    /// Adds a name that another process has already admitted.
    pub(super) fn adopt(&mut self, name: &str) {
        if self.set.insert(name.to_owned()) {
            self.bytes += name.len();
            self.budget.add(self.client.as_ref(), name.len() + NAME_OVERHEAD);
        }
    }
}

impl Drop for KeptNames {
    fn drop(&mut self) {
        if !self.set.is_empty() {
            self.budget.give_back(self.client.as_ref(), self.bytes + NAME_OVERHEAD * self.set.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_number_and_in_bytes() {
        let budget = NameBudget::new(64 << 20);
        let mut names = Names::default();
        (0..MAX).for_each(|number| names.within(&budget).insert(&number.to_string()).unwrap());
        assert!(names.within(&budget).insert("one more").unwrap_err().is_busy());
        names.within(&budget).insert("7").unwrap();
        assert!(names.remove("7") && !names.remove("7"));
        names.within(&budget).insert("one more").unwrap();

        let mut names = Names::default();
        names.within(&budget).insert(&"x".repeat(MAX_BYTES - 1)).unwrap();
        assert!(names.within(&budget).insert("xx").is_err());
        names.within(&budget).insert("y").unwrap();
        assert!(names.remove("y") && names.within(&budget).insert("z").is_ok());
    }

    #[test]
    fn names_of_all_clients_are_bounded_together_and_each_has_a_share() {
        const NAME_LENGTH: usize = 1000 - NAME_OVERHEAD;
        let budget = NameBudget::new(4000);
        let named = |client: Option<&str>| {
            let mut names = Names::default();
            names.within(&budget).of(client.map(Arc::from));
            names
        };
        let (mut ada, mut again, mut bob, mut nobody) =
            (named(Some("ada")), named(Some("ada")), named(Some("bob")), named(None));
        ada.within(&budget).insert(&"a".repeat(NAME_LENGTH)).unwrap();
        ada.within(&budget).insert(&"a".repeat(NAME_LENGTH)).unwrap();
        assert!(
            again.within(&budget).insert("b").unwrap_err().is_busy(),
            "a quarter for one client, whatever its sessions"
        );
        bob.within(&budget).insert(&"b".repeat(NAME_LENGTH)).unwrap();
        nobody.within(&budget).insert(&"c".repeat(2 * NAME_LENGTH + NAME_OVERHEAD)).unwrap();
        assert!(named(Some("eve")).within(&budget).insert("e").unwrap_err().is_busy(), "there is no budget for anyone");
        nobody.within(&budget).adopt("from another process");
        assert_eq!(budget.bytes(), 4000 + "from another process".len() + NAME_OVERHEAD);
        ada.retain(&BTreeSet::new());
        drop(nobody);
        again.within(&budget).insert(&"b".repeat(NAME_LENGTH)).unwrap();
        drop((ada, again, bob));
        assert_eq!(budget.bytes(), 0);
    }
}
