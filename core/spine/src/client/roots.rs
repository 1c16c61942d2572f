//! The directories and files that servers may work in.

use crate::{
    client::ClientError,
    protocol::{model::Root, uri},
};

/// Rejects URIs that do not start with `file://` or that contain `..` segments (ROOT-05).
pub(in crate::client) fn check_roots(roots: &[Root]) -> Result<(), ClientError> {
    for (index, root) in roots.iter().enumerate() {
        let invalid = |problem: String| ClientError::Invalid(format!("roots/{index}/uri: {problem}"));
        if !root.uri.starts_with("file://") {
            return Err(invalid(format!("{:?} must begin with \"file://\"", root.uri)));
        }
        uri::check(&root.uri).and_then(|()| uri::check_traversal(&root.uri)).map_err(|e| invalid(e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_05_roots_are_files_that_do_not_climb() {
        for uri in ["https://a.b/", "/work", "file:/work", "file:///a/../b", "file:///a%2f%2e%2e", "file:///a b"] {
            let error = check_roots(&[Root::new("file:///a"), Root::new(uri)]).unwrap_err();
            assert!(error.to_string().starts_with("roots/1/uri: "), "{uri}: {error}");
        }
        assert!(check_roots(&[Root::new("file:///C:/work")]).is_ok());
    }
}
