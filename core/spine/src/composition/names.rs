//! Names of features of several servers, in a group or on a server with mounts.
//!
//! A tool or prompt is named `server__name`. Names contain only letters, digits, `_` and `-`, and
//! at most 64 characters, because most hosts and model APIs allow no others. A name that does not
//! fit is shortened and ends with a hash, so that it is unique and the same in every process. A
//! resource is `server+uri`, as in `git+https://…`. Schemes with a special meaning stay in front:
//! `ui://server+page` is a user interface, and `skill://server+name/SKILL.md` is part of a skill.

use std::borrow::Cow;

/// Maximum length of a name in model APIs.
const MAX_NAME: usize = 64;
/// Maximum length of a prefix, which leaves space for a name and its hash.
const MAX_PREFIX: usize = 32;
const SEPARATOR: &str = "__";
const URI_SEPARATOR: char = '+';
/// URI schemes that have a meaning for clients (APP-10, SKL-09).
const SPECIAL_SCHEMES: [&str; 2] = ["ui://", "skill://"];
/// They are hexadecimal.
const HASH_DIGITS: usize = 8;

/// Derives a prefix from the name of a server. It contains no `__` and does not end with `_`, so
/// that the first `__` of a name marks its end.
pub fn prefix(server: &str) -> String {
    if is_prefix(server) {
        return server.to_owned();
    }
    let letters: String = server.chars().map(|letter| if is_word(letter) { letter } else { '-' }).collect();
    format!("{}-{}", cut(&letters, MAX_PREFIX - HASH_DIGITS - 1), hash(server))
}

/// Returns whether a name is a valid prefix.
pub fn is_prefix(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_PREFIX
        && name.bytes().all(is_plain)
        && !name.contains(SEPARATOR)
        && !name.ends_with('_')
}

/// The prefix of a server that is mounted under `inner` on one mounted under `outer`.
pub fn nested(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", only) | (only, "") => only.to_owned(),
        _ => format!("{outer}{SEPARATOR}{inner}"),
    }
}

/// The name of a tool or prompt of a server. Without a prefix, it stays the same.
pub fn public(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        return name.to_owned();
    }
    let room = MAX_NAME - prefix.len() - SEPARATOR.len();
    if name.len() <= room && name.bytes().all(is_plain) && !is_alias(name) {
        return format!("{prefix}{SEPARATOR}{name}");
    }
    let letters: String =
        name.chars().map(|letter| if is_word(letter) || letter == '_' { letter } else { '-' }).collect();
    format!("{prefix}{SEPARATOR}{}_{}", cut(&letters, room - HASH_DIGITS - 1), hash(name))
}

/// Splits a name into its prefix and the rest. A name that begins with `__` has no prefix.
pub fn split(public: &str) -> Option<(&str, &str)> {
    public.split_once(SEPARATOR).filter(|(prefix, _)| !prefix.is_empty())
}

/// Returns whether the rest of a name looks like a shortened one.
pub fn is_alias(rest: &str) -> bool {
    rest.rsplit_once('_').is_some_and(|(_, hash)| {
        hash.len() == HASH_DIGITS && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The URI or URI template of a server's resource. Without a prefix, it stays the same.
pub fn public_uri(prefix: &str, uri: &str) -> String {
    if prefix.is_empty() {
        return uri.to_owned();
    }
    let (scheme, rest) = telling(uri);
    format!("{scheme}{prefix}{URI_SEPARATOR}{rest}")
}

/// The id of a server's task.
pub fn public_task(prefix: &str, id: &str) -> String {
    format!("{prefix}{SEPARATOR}{id}")
}

/// Splits a URI into its prefix and the URI within the server. A URI whose own part begins with
/// `+`, such as `ui://+page`, has no prefix.
pub fn split_uri(public: &str) -> Option<(&str, Cow<'_, str>)> {
    let (scheme, rest) = telling(public);
    let (prefix, uri) = rest.split_once(URI_SEPARATOR).filter(|(prefix, _)| !prefix.is_empty())?;
    Some((prefix, if scheme.is_empty() { uri.into() } else { format!("{scheme}{uri}").into() }))
}

/// Splits off a scheme with a special meaning, if there is one.
fn telling(uri: &str) -> (&'static str, &str) {
    SPECIAL_SCHEMES.iter().find_map(|scheme| Some((*scheme, uri.strip_prefix(scheme)?))).unwrap_or(("", uri))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-'
}

/// The first `length` bytes of an ASCII string.
fn cut(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or(text)
}

/// 32-bit FNV-1a, which, unlike the standard library's hasher, is the same on every machine and in
/// every release.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_the_servers_and_the_tools_where_they_fit() {
        assert_eq!(public(&prefix("weather"), "forecast"), "weather__forecast");
        assert_eq!(public(&prefix("my_server-1"), "_a__b"), "my_server-1___a__b");
        assert_eq!(split("my_server-1___a__b"), Some(("my_server-1", "_a__b")));
        assert_eq!(split("__a"), None, "a name on a server that is mounted without a prefix");
        assert_eq!(public_uri("notes", "notes://a+b"), "notes+notes://a+b");
        assert_eq!(split_uri("notes+notes://a+b"), Some(("notes", "notes://a+b".into())));
        assert_eq!(split_uri("ui://+a"), None, "a URI on a server that is mounted without a prefix");
        assert_eq!((public("", "_a__b"), public_uri("", "ui://a")), ("_a__b".to_owned(), "ui://a".to_owned()));
    }

    #[test]
    fn app_10_skl_09_uris_that_tell_their_kind_still_do() {
        for (own, public) in [
            ("ui://page", "ui://notes+page"),
            ("ui://a+b", "ui://notes+a+b"),
            ("skill://team/reports/SKILL.md", "skill://notes+team/reports/SKILL.md"),
        ] {
            assert_eq!(public_uri("notes", own), public);
            assert_eq!(split_uri(public), Some(("notes", own.into())));
        }
        assert_eq!((split_uri("ui://page"), split_uri("notes://a")), (None, None));
    }

    #[test]
    fn every_name_fits_the_interfaces_of_models_and_differs_from_all_others() {
        let long = "a".repeat(200);
        let servers = ["a", "a_", "a__b", "é", "", "a b", "a.b", "a-b", &long, "A", "__", "name with, signs!"];
        let tools = ["b", "_b", "b__c", "a.b", "a/b", "a b", "ü", "", &long, "x_0123abcd", "get_weather"];
        let mut seen = HashSet::new();
        for server in servers {
            let prefix = prefix(server);
            assert!(!prefix.contains(SEPARATOR) && !prefix.ends_with('_') && !prefix.contains('+'), "{prefix}");
            for tool in tools {
                let name = public(&prefix, tool);
                assert!(name.len() <= MAX_NAME && name.bytes().all(is_plain), "{name}");
                assert_eq!(split(&name).map(|(prefix, _)| prefix), Some(&*prefix), "{name}");
                assert!(seen.insert(name.clone()), "{name} is there twice");
            }
        }
    }

    #[test]
    fn names_stay_the_same_in_every_release() {
        assert_eq!(public(&prefix("weather data"), "get.forecast"), "weather-data-18298699__get-forecast_7a67d702");
        assert!(is_alias("get-forecast_7a67d702") && !is_alias("get_forecast") && !is_alias("get_FORECAST"));
    }
}
