//! Store URLs.

use super::{StoreError, StoreErrorKind};
use std::path::PathBuf;

/// Prefix of keys in a database, which applications may share.
const DEFAULT_NAMESPACE: &str = "trunkline";
const URL_FORMS: &str = "memory:, sqlite:PATH, redis://HOST:PORT/DATABASE or rediss://…";

/// A parsed store URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// `memory:`
    Memory,
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `redis://…` or `rediss://…`
    Redis {
        /// The URL as given, without the namespace.
        url: String,
        /// Prefix of all keys.
        namespace: String,
    },
}

impl StoreUrl {
    /// Parses a URL and checks that its store is compiled in.
    ///
    /// # Errors
    /// If the URL is invalid, or the cargo feature of its store is off.
    pub(crate) fn read(text: &str) -> Result<Self, StoreError> {
        let url = Self::parse(text)?;
        match url {
            Self::Sqlite(_) if cfg!(not(feature = "store-sqlite")) => Err(missing(text, "store-sqlite")),
            Self::Redis { .. } if cfg!(not(feature = "store-redis")) => Err(missing(text, "store-redis")),
            _ => Ok(url),
        }
    }

    /// Parses a URL.
    ///
    /// # Errors
    /// If the URL is invalid.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let invalid = |problem: String| StoreError::new(StoreErrorKind::Invalid, redacted(text), problem);
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", path)) => {
                let path = match path.strip_prefix("//") {
                    Some(path) if path.starts_with('/') => path,
                    Some(_) => return Err(invalid("write the path as sqlite:PATH, or sqlite:///ABSOLUTE".to_owned())),
                    None => path,
                };
                if path.is_empty() {
                    return Err(invalid("the path of the file is missing: sqlite:PATH".to_owned()));
                }
                Ok(Self::Sqlite(path.into()))
            }
            Some(("redis" | "rediss", rest)) if rest.starts_with("//") => {
                let (url, query) = text.split_once('?').unwrap_or((text, ""));
                let pairs = query.split('&').filter(|pair| !pair.is_empty());
                let (own, others): (Vec<_>, Vec<_>) = pairs.partition(|pair| pair.starts_with("namespace="));
                let namespace =
                    own.last().and_then(|pair| pair.strip_prefix("namespace=")).unwrap_or(DEFAULT_NAMESPACE);
                if !is_namespace(namespace) {
                    let problem = "namespace must have 1 to 64 letters, digits, '.', '_' or '-'";
                    return Err(invalid(format!("{problem}, not {namespace:?}")));
                }
                let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
                Ok(Self::Redis { url: format!("{url}{query}"), namespace: namespace.to_owned() })
            }
            _ => Err(invalid(format!("supported URLs are {URL_FORMS}"))),
        }
    }
}

/// The error for a store whose cargo feature is off.
pub(crate) fn missing(url: &str, feature: &str) -> StoreError {
    let problem = format!("the cargo feature `{feature}` of trunkline is disabled");
    StoreError::new(StoreErrorKind::Invalid, redacted(url), problem)
}

fn is_namespace(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_sign)
}

/// A URL without user, password and parameters, for logs and errors.
pub(crate) fn redacted(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // A password may contain an unencoded slash, so it ends at the last `@`.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_store() {
        let redis = |url: &str, namespace: &str| StoreUrl::Redis { url: url.into(), namespace: namespace.into() };
        for (text, expected) in [
            ("memory:", StoreUrl::Memory),
            ("sqlite:state.db", StoreUrl::Sqlite("state.db".into())),
            ("sqlite:/var/lib/state.db", StoreUrl::Sqlite("/var/lib/state.db".into())),
            ("sqlite:///var/lib/state.db", StoreUrl::Sqlite("/var/lib/state.db".into())),
            ("redis://localhost", redis("redis://localhost", "trunkline")),
            ("rediss://u:p@h:1/2?namespace=shop", redis("rediss://u:p@h:1/2", "shop")),
            ("redis://h?protocol=3&namespace=a.b-c_1", redis("redis://h?protocol=3", "a.b-c_1")),
        ] {
            assert_eq!(StoreUrl::parse(text).unwrap(), expected, "{text}");
        }
        for (text, part) in [
            ("", "supported URLs are memory:, sqlite:PATH"),
            ("memory", "supported URLs"),
            ("memory:x", "supported URLs"),
            ("sqlite:", "path of the file is missing"),
            ("sqlite://state.db", "write the path as sqlite:PATH"),
            ("redis:localhost", "supported URLs"),
            ("postgres://u:secret@h/db", "The store postgres://h/db cannot be used this way: supported"),
            ("redis://:secret@h?namespace=", "namespace must have"),
            ("redis://:secret@h?namespace=a:b", "namespace must have"),
        ] {
            let error = StoreUrl::parse(text).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid);
            assert!(error.to_string().contains(part) && !error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn no_log_shows_the_password_of_a_store() {
        for (text, expected) in [
            ("redis://user:secret@host:6379/1?password=secret", "redis://host:6379/1"),
            ("redis://:se/cr@et@host", "redis://host"),
            ("redis://host#secret", "redis://host"),
            ("sqlite:a b.db", "sqlite:a b.db"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }
}
