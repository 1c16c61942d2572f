//! Roots: the directories in which a client lets a server work.

json_object! {
    /// A directory or file in which a server may work.
    pub struct Root with meta {
        /// URI; currently `file:` only.
        required uri: String = "uri",
        /// Display name.
        optional name: String = "name",
    }

    /// The roots of a client.
    pub struct ListRootsResult with meta {
        /// The roots.
        list roots: Root = "roots",
    }
}

impl Root {
    /// Creates a root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

impl FromIterator<Root> for ListRootsResult {
    fn from_iter<I: IntoIterator<Item = Root>>(roots: I) -> Self {
        Self { roots: roots.into_iter().collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn roots_round_trip() {
        let wire = json!({"roots": [{"uri": "file:///a", "name": "A", "x": 1}, {"uri": "file:///b"}]});
        let read: ListRootsResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), wire);
        assert_eq!(read.roots[1], Root::new("file:///b"));
    }
}
