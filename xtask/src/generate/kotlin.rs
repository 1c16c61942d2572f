//! Generates the files of the Kotlin package from the surface: models, errors, options and
//! operations. The templates next to this file contain their text, formatted as ktlint expects it.

use anyhow::Result;
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, commented, snake};
use super::{File, MARK, docs, templates, typescript};
use crate::workspace::Workspace;

pub(super) const FOLDER: &str = "bindings-uniffi/kotlin/src/main/kotlin/dev/trunkline/generated";

/// KDoc has no tag for deprecations.
const DEPRECATED: &str = "Deprecated since 2026-07-28: ";

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/kotlin"))?;
    environment.add_filter("comment", |text: String, indent: usize| commented(indent, &[text], DEPRECATED));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| commented(indent, &docs, DEPRECATED));
    environment
        .add_filter("param", |Serde(field): Serde<Field>| typescript::param_doc(&field, &camel(&field.name), ""));
    environment.add_filter("default_of", |Serde(field): Serde<Field>| docs::default(&field));
    environment.add_filter("constant", |value: String| constant(&value));
    let files = templates::render(&environment, FOLDER, printed)?;
    Ok(files.into_iter().map(|(path, text)| (path, format!("// {MARK}\n{text}"))).collect())
}

/// The constant of a string: `NOT_STARTED` for `notStarted`, `V2026_07_28` for `2026-07-28`.
fn constant(value: &str) -> String {
    let name = snake(value).to_uppercase().replace('-', "_");
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("V{name}") } else { name }
}
