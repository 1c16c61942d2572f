//! Generates the files of the Ruby gem from the surface. The templates next to this file contain
//! their text.

use std::collections::BTreeSet;

use anyhow::Result;
use minijinja::value::{Serde, Value};

use super::surface::{Surface, Type};
use super::text::{DEPRECATED, marked, prefixed, wrapped_items};
use super::{File, MARK, templates};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-uniffi/ruby";

/// Maximum line length of prose.
const WIDTH: usize = 100;

pub(crate) fn render(workspace: &Workspace, printed: &Value, surface: &Surface) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/ruby"))?;
    let values = surface.models.iter().filter(|model| model.values.is_some());
    let texts: BTreeSet<String> = values.map(|model| model.name.clone()).collect();
    let known = texts.clone();
    environment.add_filter("yard", move |Serde(ty): Serde<Type>| {
        typed(&ty, &known, ["Boolean", "Object", "<", ">", "{", " => ", "}", ", "])
    });
    environment.add_filter("rbs", move |Serde(ty): Serde<Type>| {
        typed(&ty, &texts, ["bool", "untyped", "[", "]", "[", ", ", "]", " | "])
    });
    environment.add_filter("comment", |text: String, indent: usize| comment(&text, indent));
    let files = templates::render(&environment, PACKAGE, printed)?;
    let head = |path: &str| if path.ends_with(".rb") { "# frozen_string_literal: true\n\n" } else { "" };
    Ok(files.into_iter().map(|(path, text)| (path.clone(), format!("{}# {MARK}\n{text}", head(&path)))).collect())
}

/// A type for YARD or for RBS, with its names and brackets.
fn typed(ty: &Type, texts: &BTreeSet<String>, words: [&str; 8]) -> String {
    let [boolean, any, open, close, open_hash, arrow, close_hash, or] = words;
    let inner = |ty: &Type| typed(ty, texts, words);
    match ty {
        Type::Boolean => boolean.into(),
        Type::Integer => "Integer".into(),
        Type::Number | Type::Duration => "Numeric".into(),
        Type::Json => any.into(),
        Type::Object => format!("Hash{open_hash}String{arrow}{any}{close_hash}"),
        Type::OrFalse(one) => format!("{}{or}false", inner(one)),
        Type::OneOrList(one) => format!("{0}{or}Array{open}{0}{close}", inner(one)),
        Type::List(one) => format!("Array{open}{}{close}", inner(one)),
        Type::Map(one) => format!("Hash{open_hash}String{arrow}{}{close_hash}", inner(one)),
        Type::Model(name) if !texts.contains(name) => name.clone(),
        Type::String | Type::Values(_) | Type::Model(_) => "String".into(),
    }
}

/// Comment lines of a YARD text; continuation lines of a tag are indented.
fn comment(text: &str, indent: usize) -> String {
    // YARD has no tag for an item of a list.
    let text = marked(text, "@deprecated Since 2026-07-28: ").replace(DEPRECATED, "Deprecated since 2026-07-28: ");
    let lines = wrapped_items(&text, WIDTH - indent - 4, &["@", "- "]);
    prefixed(&lines, &format!("{}# ", " ".repeat(indent))).trim_end().to_owned()
}
