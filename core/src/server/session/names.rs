//! Names that a client gave and that are kept for it: URIs it subscribed to, tasks and elicitations
//! it wants to hear of.

use crate::protocol::RpcError;
use std::collections::BTreeSet;

/// Most names that are kept for one session or stream, and their most bytes together.
const MAX: usize = 10_000;
const MAX_BYTES: usize = 4 << 20;

/// A set of names within bounds.
#[derive(Debug, Default)]
pub(super) struct Names {
    set: BTreeSet<String>,
    bytes: usize,
}

impl Names {
    /// Keeps a name.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn insert(&mut self, name: &str) -> Result<(), RpcError> {
        if self.set.contains(name) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(name.len());
        if self.set.len() >= MAX || bytes > MAX_BYTES {
            let text = format!("at most {MAX} names of {MAX_BYTES} bytes together are kept for one client");
            return Err(RpcError::busy(&text));
        }
        self.bytes = bytes;
        self.set.insert(name.to_owned());
        Ok(())
    }

    /// Forgets a name. `false`: it was not kept.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let removed = self.set.remove(name);
        if removed {
            self.bytes -= name.len();
        }
        removed
    }

    /// The names.
    pub(super) fn set(&self) -> &BTreeSet<String> {
        &self.set
    }

    /// The names, to keep.
    pub(super) fn into_set(self) -> BTreeSet<String> {
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_number_and_in_bytes() {
        let mut names = Names::default();
        (0..MAX).for_each(|number| names.insert(&number.to_string()).unwrap());
        assert!(names.insert("one more").unwrap_err().is_busy());
        names.insert("7").unwrap();
        assert!(names.remove("7") && !names.remove("7"));
        names.insert("one more").unwrap();

        let mut names = Names::default();
        names.insert(&"x".repeat(MAX_BYTES - 1)).unwrap();
        assert!(names.insert("xx").is_err());
        names.insert("y").unwrap();
        assert!(names.remove("y") && names.insert("z").is_ok());
    }
}
