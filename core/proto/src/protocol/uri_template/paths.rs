//! Detects values that lead out of the directory that they are appended to.

use super::{Operator, Part, UriValue, UriVariables, expressions};

pub(super) fn has_unsafe(parts: &[Part], values: &UriVariables) -> bool {
    values.iter().any(|(name, value)| {
        let may_be_absolute = takes_slashes(parts, name);
        let is_unsafe = |text: &String| climbs(text) || !may_be_absolute && is_absolute(text);
        match value {
            UriValue::Text(text) => is_unsafe(text),
            UriValue::List(list) => list.iter().any(is_unsafe),
        }
    })
}

/// Returns whether every expression with the variable allows slashes in its value.
fn takes_slashes(parts: &[Part], name: &str) -> bool {
    let mut with_it = expressions(parts).filter(|expression| expression.variables.iter().any(|it| it.name == name));
    with_it.all(|expression| matches!(expression.operator, Operator::Reserved | Operator::Fragment))
}

/// Windows also separates paths with backslashes.
fn climbs(text: &str) -> bool {
    text.contains('\0') || text.split(['/', '\\']).any(|segment| segment == "..")
}

/// On Windows, a drive alone (`C:x`) also leads out of a directory.
fn is_absolute(text: &str) -> bool {
    match text.as_bytes() {
        [b'/' | b'\\', ..] => true,
        [drive, b':', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::UriTemplate;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;
    use std::path::{Component, Path};

    /// Returns `None` if the URI does not match.
    fn is_unsafe(template: &str, uri: &str) -> Option<bool> {
        let template = UriTemplate::parse(template).unwrap();
        template.matches(uri).map(|values| template.has_unsafe_path(&values))
    }

    #[test]
    fn res_12_values_that_climb_or_are_absolute_are_found_in_every_form() {
        for (template, uri) in [
            ("files://{p}", "files://..%2F..%2Fetc%2Fpasswd"),
            ("files://{p}", "files://a%5C..%5Cb"),
            ("files://{p}", "files://.."),
            ("files://{p}", "files://%2e%2E"),
            ("files://{p}", "files://%2Fetc%2Fpasswd"),
            ("files://{p}", "files://%5C%5Cserver%5Cshare"),
            ("files://{p}", "files://C:%5CWindows"),
            ("files://{p}", "files://c:secret"),
            ("files://{p}", "files://a%00b"),
            ("files://{p:2}", "files://.."),
            ("tree://x{/p*}", "tree://x/a/..%2F..%2Fetc"),
            ("tree://x{/p*}", "tree://x/a/%2Fetc"),
            ("tree://x{/p*}", "tree://x/a/../b"),
            ("tree://{p*}", "tree://a,..%2Fb"),
            ("files://a{?p}", "files://a?p=../b"),
            ("files://a{?p}", "files://a?p=/etc"),
            ("files://a{;p}", "files://a;p=%2Fetc"),
            ("files:///{+p}", "files:///a/%2e%2e/b"),
            ("files:///{+p}", "files:///a%00"),
            ("files:///{p}/{+p}", "files:///%2Fa/%2Fa"),
        ] {
            assert_eq!(is_unsafe(template, uri), Some(true), "{template} {uri}");
        }
        for (template, uri) in [
            ("files://{p}", "files://a%2Fb"),
            ("files://{p}", "files://a..b"),
            ("files://{p}", "files://...%2F.%2Fx.."),
            ("files://{p}", "files://ab:c"),
            ("files://{p}", "files://1:2"),
            ("files:///{+p}", "files:////etc/hosts"),
            ("a:{x}{#f}", "a:1#/2/3"),
            ("tree://x{/p*}", "tree://x/a/b"),
        ] {
            assert_eq!(is_unsafe(template, uri), Some(false), "{template} {uri}");
        }
    }

    proptest! {
        /// RES-12: an accepted value stays below the directory that it is joined to, however it was
        /// encoded.
        #[test]
        fn what_is_let_through_stays_inside(value in r"[a-c./\\:\x00]{1,12}", encodes in any::<bool>()) {
            let encoded = if encodes {
                utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string()
            } else {
                value.replace('\0', "%00").replace('/', "%2F")
            };
            for template in ["x://{p}", "x://y{/p*}", "x://y{?p}"] {
                let uri = match template {
                    "x://{p}" => format!("x://{encoded}"),
                    "x://y{/p*}" => format!("x://y/{encoded}"),
                    _ => format!("x://y?p={encoded}"),
                };
                if is_unsafe(template, &uri) == Some(false) {
                    let unix = value.replace('\\', "/");
                    let joined = Path::new("/base").join(&unix);
                    prop_assert!(joined.starts_with("/base"), "{}", uri);
                    prop_assert!(!joined.components().any(|part| part == Component::ParentDir), "{}", uri);
                    prop_assert!(!value.contains('\0'), "{}", uri);
                }
            }
            let climbs = value.split(['/', '\\']).any(|segment| segment == "..");
            if climbs || value.contains('\0') || value.starts_with(['/', '\\']) {
                prop_assert_eq!(is_unsafe("x://{p}", &format!("x://{encoded}")), Some(true));
            }
        }
    }
}
