//! URIs of resources that are parts of others.

/// Returns whether a URI is equal to another or below it, because a server may announce a part of
/// what was subscribed to.
pub(super) fn lies_below(uri: &str, above: &str) -> bool {
    uri.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || above.ends_with('/') || rest.starts_with(['/', '#', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_resource_lies_below_it() {
        for (uri, below) in [("a:/b", true), ("a:/b/c", true), ("a:/b#c", true), ("a:/bc", false), ("a:/", false)] {
            assert_eq!(lies_below(uri, "a:/b"), below, "{uri}");
        }
        assert!(lies_below("a:/b", "a:/"));
    }
}
