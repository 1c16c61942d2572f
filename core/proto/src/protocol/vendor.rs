//! Validates names of methods that are not part of the protocol.

use super::method::Method;

/// Maximum length of a name in bytes, because HTTP repeats it in a header.
const MAX_NAME: usize = 256;

/// Checks a method name of an extension or vendor: a prefix that the protocol does not use, a
/// slash, and the name, such as `com.acme/sum`. Vendors use their reversed domain as the prefix, so
/// that no later revision of the protocol conflicts with it.
///
/// # Errors
/// Why the name is not allowed.
///
/// ```
/// use trunkline_proto::protocol::vendor::check_method;
///
/// assert!(check_method("com.acme/sum").is_ok());
/// assert!(check_method("tools/sum").is_err());
/// ```
pub fn check_method(name: &str) -> Result<(), String> {
    if Method::is_standard(name) {
        return Err(format!("{name:?} is a method of the protocol"));
    }
    // JSON-RPC 2.0, section 4.
    if name.starts_with("rpc.") {
        return Err(format!("{name:?}: names that begin with \"rpc.\" are reserved by JSON-RPC"));
    }
    let (prefix, own) = name.split_once('/').unwrap_or_default();
    if prefix.is_empty() || own.is_empty() {
        return Err(format!("{name:?} needs a prefix and a name, such as \"com.acme/sum\""));
    }
    if Method::has_prefix(prefix) || is_reserved(prefix) {
        return Err(format!(
            "{name:?}: the prefix {prefix:?} is reserved by the protocol; use one such as \"com.acme/\""
        ));
    }
    if name.len() > MAX_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{name:?} must be up to {MAX_NAME} visible ASCII characters"));
    }
    Ok(())
}

/// RPC-37: prefixes are reserved by their second label.
fn is_reserved(prefix: &str) -> bool {
    matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TKX-53, SKL-75: nor those of its extensions.
    #[test]
    fn ext_10_names_of_vendors_are_not_the_protocols() {
        for name in ["com.acme/sum", "com.acme/deep/er", "acme/x"] {
            assert_eq!(check_method(name), Ok(()));
        }
        for (name, says) in [
            ("tools/call", "is a method of the protocol"),
            ("initialize", "is a method of the protocol"),
            ("tools/sum", "the prefix \"tools\" is reserved by the protocol"),
            ("notifications/com.acme", "the prefix \"notifications\""),
            ("notifications/tasks/sum", "the prefix \"notifications\""),
            ("tasks/sum", "the prefix \"tasks\""),
            ("skills/sum", "the prefix \"skills\""),
            ("resources/directory/read", "is a method of the protocol"),
            ("io.modelcontextprotocol/x", "the prefix"),
            ("dev.mcp/x", "the prefix"),
            ("rpc.discover/x", "JSON-RPC"),
            ("sum", "needs a prefix"),
            ("com.acme/", "needs a prefix"),
            ("/sum", "needs a prefix"),
            ("", "needs a prefix"),
            ("com.acme/two words", "visible ASCII"),
            (&format!("com.acme/{}", "x".repeat(256)), "up to 256"),
        ] {
            let problem = check_method(name).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }
}
