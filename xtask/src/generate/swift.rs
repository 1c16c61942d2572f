//! Generates the files of the Swift package from the surface: models, errors, options and
//! operations. The templates next to this file contain their text. The functions of the native
//! library are those that uniffi generates.

use anyhow::Result;
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, pascal, prefixed, snake, unmarked, wrapped};
use super::{File, MARK, kotlin, templates};
use crate::workspace::Workspace;

const SOURCES: &str = "bindings-uniffi/swift/Sources";

/// The files of uniffi, and their places among the sources.
const NATIVE: [(&str, &str); 2] = [
    ("TrunklineNative.swift", "TrunklineNative/generated/TrunklineNative.swift"),
    ("TrunklineFFI.h", "TrunklineFFI/generated/TrunklineFFI.h"),
];

/// Maximum line length of prose.
const WIDTH: usize = 100;

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/swift"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&[text], indent));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| comment(&docs, indent));
    environment.add_filter("param", |Serde(field): Serde<Field>| {
        format!("- Parameter {}: {}", identifier(&field.name), field.doc)
    });
    environment.add_filter("camel", |name: String| cased(&camel(&name)));
    environment.add_filter("pascal", |name: String| cased(&pascal(&name)));
    environment.add_filter("cased", |name: String| cased(&name));
    environment.add_filter("identifier", |name: String| identifier(&name));
    environment.add_filter("constant", |value: String| constant(&value));
    let files = templates::render(&environment, SOURCES, printed)?;
    let mut files: Vec<File> = files.into_iter().map(|(path, text)| (path, format!("// {MARK}\n{text}"))).collect();
    for (name, place) in NATIVE {
        let place = format!("{SOURCES}/{place}");
        let text = kotlin::native(workspace, &place, name)?;
        files.push((place, text));
    }
    Ok(files)
}

/// The name of a member, without the unit of a time.
fn identifier(name: &str) -> String {
    escaped(cased(&camel(name)).trim_end_matches("Ms"))
}

/// Acronyms have one case in Swift's names, as in `clientID`, `DPoPPolicy` and `jwksURI`.
fn cased(name: &str) -> String {
    const ACRONYMS: [(&str, &str); 5] =
        [("Dpop", "DPoP"), ("Http", "HTTP"), ("Id", "ID"), ("Uri", "URI"), ("Url", "URL")];
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut().filter(|_| !letter.is_ascii_uppercase()) {
            Some(word) => word.push(letter),
            None => words.push(letter.to_string()),
        }
    }
    let cased =
        |word: String| ACRONYMS.iter().find(|(plain, _)| *plain == word).map_or(word, |(_, cased)| (*cased).to_owned());
    words.into_iter().map(cased).collect()
}

/// The name of a string: `inputRequired` for `input_required`, `v2026_07_28` for `2026-07-28`.
fn constant(value: &str) -> String {
    let name = value.rsplit('/').next().unwrap_or(value);
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("v{}", name.replace('-', "_"));
    }
    escaped(&camel(&snake(name)))
}

fn escaped(name: &str) -> String {
    const KEYWORDS: [&str; 7] = ["default", "enum", "internal", "private", "protocol", "public", "repeat"];
    if KEYWORDS.contains(&name) { format!("`{name}`") } else { name.to_owned() }
}

/// The attribute of a deprecated item.
fn attribute(replacement: &str) -> String {
    format!("@available(*, deprecated, message: \"since 2026-07-28, {}\")", replacement.trim_end_matches('.'))
}

/// A comment of documentation: text, then the parameters. The attribute of a deprecated item, which
/// documentation shows, follows.
fn comment(docs: &[String], indent: usize) -> String {
    let (docs, replacement) = unmarked(docs);
    let margin = " ".repeat(indent);
    let mut lines = Vec::new();
    for (index, doc) in docs.iter().enumerate() {
        if index == 1 {
            lines.push(String::new());
        }
        let more = if doc.starts_with("- ") { "  " } else { "" };
        let found = wrapped(doc, WIDTH - indent - "///   ".len());
        lines.extend(
            found.iter().enumerate().map(|(at, line)| if at == 0 { line.clone() } else { format!("{more}{line}") }),
        );
    }
    let attribute = replacement.map_or_else(String::new, |of| format!("\n{margin}{}", attribute(of)));
    format!("{}{attribute}", prefixed(&lines, &format!("{margin}/// ")).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acronyms_have_one_case() {
        for (name, expected) in [
            ("client_id", "clientID"),
            ("jwks_uri", "jwksURI"),
            ("url", "url"),
            ("id_token", "idToken"),
            ("identity_token", "identityToken"),
            ("drain_deadline_ms", "drainDeadline"),
        ] {
            assert_eq!(identifier(name), expected);
        }
        assert_eq!(
            ["DpopPolicy", "HttpOptions", "OAuthOptions"].map(cased),
            ["DPoPPolicy", "HTTPOptions", "OAuthOptions"]
        );
    }
}
