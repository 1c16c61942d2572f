//! Templates: next to each renderer is a tree of `.j2` files that mirrors the files it generates.
//! `client/_generated/operations.py.j2` becomes `client/_generated/operations.py` of the package. A
//! template without another extension, such as `macros.j2`, is imported by other templates, or
//! rendered separately by the renderer.

use std::path::Path;

use anyhow::{Context, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use super::surface::Field;
use super::text::{camel, deprecation, documented, pascal, snake, wrapped};
use super::{File, docs};
use crate::stamp::files_with;

const TEMPLATE_ENDING: &str = ".j2";

/// The templates of a directory, with the filters shared by all languages.
pub(crate) fn environment(folder: &Path) -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment
        .set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true).build()?);
    for path in files_with(folder, "j2")? {
        let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
        let source = std::fs::read_to_string(&path).with_context(|| name.clone())?;
        environment.add_template_owned(name.clone(), source).with_context(|| name)?;
    }
    environment.add_global("version", env!("CARGO_PKG_VERSION"));
    // For functions of a custom transport or store.
    environment.add_filter("method", |name: String| name.split_once('_').map(|(_, method)| method.to_owned()));
    environment.add_filter("snake", |text: String| snake(&text));
    environment.add_filter("camel", |text: String| camel(&text));
    environment.add_filter("pascal", |text: String| pascal(&text));
    environment.add_filter("json", |Serde(value): Serde<serde_json::Value>| value.to_string());
    environment.add_filter("documented", |Serde(field): Serde<Field>| documented(&field));
    // The replacement of a deprecated item, if any.
    environment.add_filter("deprecated", |text: String| deprecation(&text).1.map(str::to_owned));
    environment.add_filter("default_of", |Serde(field): Serde<Field>| docs::default(&field));
    environment.add_filter("without_unit", |name: String| name.trim_end_matches("Ms").to_owned());
    // In a table of Markdown.
    environment.add_filter("cell", |text: String| text.replace("\n\n", " ").replace('|', "\\|"));
    environment.add_filter("wrapped", |text: String, width: usize| wrapped(&text, width));
    Ok(environment)
}

/// Converts a value for a filter or a context.
pub(crate) fn value(of: impl Serialize) -> Value {
    Value::from(Serde(of))
}

/// Renders all templates, as files in the directory `target` of the tree.
pub(crate) fn render(environment: &Environment, target: &str, context: &Value) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for (name, template) in environment.templates() {
        let Some(path) = name.strip_suffix(TEMPLATE_ENDING).filter(|path| path.contains('.')) else { continue };
        let text = template.render(context.clone()).with_context(|| format!("the template {name}"))?;
        // Loops write a comma and a space after each item; remove them after the last one.
        let text = [')', '}', ']'].iter().fold(text, |text, end| text.replace(&format!(", {end}"), &end.to_string()));
        files.push((format!("{target}/{path}"), text));
    }
    Ok(files)
}
