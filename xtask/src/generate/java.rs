//! Generates the files of the Java package from the surface. A template contains many classes: a
//! line `//// Name` begins each, because a public class needs a file of its own.

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, commented, documented, unmarked};
use super::{File, MARK, kotlin, templates};
use crate::workspace::Workspace;

const FOLDER: &str = "bindings-uniffi/java/src/generated/java/dev/trunkline/java";

/// Precedes each class of a template, with the name of the class after it.
const CLASS_MARK: &str = "//// ";

/// The tag for documentation of deprecated items, which have the annotation as well.
const DEPRECATED: &str = "@deprecated Since 2026-07-28: ";

/// Classes of other packages, which a file imports if it names them.
const IMPORTS: [&str; 9] = [
    "java.lang.reflect.Type",
    "java.time.Duration",
    "java.util.List",
    "java.util.Map",
    "java.util.concurrent.CompletableFuture",
    "java.util.function.Consumer",
    "java.util.function.Predicate",
    "java.util.function.Supplier",
    "org.jspecify.annotations.Nullable",
];

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/java"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&[text], indent));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| comment(&docs, indent));
    environment.add_filter("identifier", |name: String| identifier(&name));
    environment.add_filter("param", |Serde(field): Serde<Field>| tag(&field.name, &field.doc));
    environment.add_filter("component", |Serde(field): Serde<Field>| {
        tag(&field.name, &documented(&field).replace(", in milliseconds", ""))
    });
    environment.add_filter("constant", |value: String| kotlin::constant(&value));
    let mut files = Vec::new();
    for (template, text) in templates::render(&environment, FOLDER, printed)? {
        for class in text.split(CLASS_MARK).skip(1) {
            let (name, body) =
                class.split_once('\n').with_context(|| format!("a class without a body in {template}"))?;
            files.push((format!("{FOLDER}/{name}.java"), file(body)));
        }
    }
    Ok(files)
}

fn file(body: &str) -> String {
    let code: Vec<_> = body.lines().filter(|line| !line.trim_start().starts_with(['*', '/'])).collect();
    let words: Vec<_> = code.iter().flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric())).collect();
    let is_named = |class: &&&str| class.rsplit('.').next().is_some_and(|name| words.contains(&name));
    let imports: String = IMPORTS.iter().filter(is_named).map(|class| format!("import {class};\n")).collect();
    let separator = if imports.is_empty() { "" } else { "\n" };
    format!("// {MARK}\npackage dev.trunkline.java;\n\n{imports}{separator}{}\n", body.trim_end())
}

fn tag(name: &str, doc: &str) -> String {
    format!("@param {} {doc}", identifier(name))
}

/// The name of a member in Java, without the unit of a time. Some are keywords.
fn identifier(name: &str) -> String {
    match camel(name).trim_end_matches("Ms") {
        "const" => "constant".to_owned(),
        "default" => "defaultValue".to_owned(),
        "enum" => "enumeration".to_owned(),
        name => name.to_owned(),
    }
}

/// A Javadoc comment. Text between backticks becomes code, and the rest is escaped. Paragraphs
/// after the first begin with a tag. The annotation of a deprecated item follows.
fn comment(docs: &[String], indent: usize) -> String {
    let (mut docs, replacement) = unmarked(docs);
    docs.extend(replacement.map(|replacement| format!("{DEPRECATED}{replacement}")));
    let text = commented(indent, &docs, DEPRECATED);
    let mut converted = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            converted += &format!("{{@code {part}}}");
        } else {
            converted += &part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        }
    }
    let blank = format!("\n{} *\n{0} * ", " ".repeat(indent));
    let mut paragraphs = converted.split(&blank);
    let first = paragraphs.next().unwrap_or_default().to_owned();
    let text =
        paragraphs.fold(first, |text, next| text + &blank + if next.starts_with('@') { "" } else { "<p>" } + next);
    if replacement.is_some() { format!("{text}\n{}@Deprecated", " ".repeat(indent)) } else { text }
}
