//! Generates the files of the Swift package from the surface: models, errors, options and
//! operations. The templates next to this file contain their text. The functions of the native
//! library are those that uniffi generates.

use anyhow::Result;
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, marked, prefixed, snake, wrapped};
use super::{File, MARK, kotlin, templates};
use crate::workspace::Workspace;

const SOURCES: &str = "bindings-uniffi/swift/Sources";

/// The files of uniffi, and their places among the sources.
const NATIVE: [(&str, &str); 2] = [
    ("TrunklineNative.swift", "TrunklineNative/generated/TrunklineNative.swift"),
    ("TrunklineFFI.h", "TrunklineFFI/generated/TrunklineFFI.h"),
];

/// Swift's own attribute warns at every use of a legacy feature.
const DEPRECATED: &str = "Deprecated since 2026-07-28: ";

/// Maximum line length of prose.
const WIDTH: usize = 100;

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/swift"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&[text], indent));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| comment(&docs, indent));
    environment.add_filter("param", |Serde(field): Serde<Field>| {
        format!("- Parameter {}: {}", identifier(&field.name), field.doc)
    });
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
    escaped(camel(name).trim_end_matches("Ms"))
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

/// A comment of documentation: text, then the parameters.
fn comment(docs: &[String], indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines = Vec::new();
    for (index, doc) in docs.iter().enumerate() {
        if index == 1 {
            lines.push(String::new());
        }
        let more = if doc.starts_with("- ") { "  " } else { "" };
        let found = wrapped(&marked(doc, DEPRECATED), WIDTH - indent - "///   ".len());
        lines.extend(
            found.iter().enumerate().map(|(at, line)| if at == 0 { line.clone() } else { format!("{more}{line}") }),
        );
    }
    prefixed(&lines, &format!("{margin}/// ")).trim_end().to_owned()
}
