//! Generates the files of the Java packages from the surface. A template contains many classes: a
//! line `//// Name` begins each, because a public class needs a file of its own. Public records and
//! enums, which are data, are in the package of models, and all others in the main one.

use std::collections::HashSet;

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, commented, documented, unmarked};
use super::{File, MARK, kotlin, templates};
use crate::workspace::Workspace;

const SOURCES: &str = "bindings-uniffi/java/src/generated/java";
const PACKAGE: &str = "dev.trunkline.java";
const MODELS: &str = "dev.trunkline.java.model";

/// The beginnings of declarations of data.
const DATA: [&str; 3] = ["public record ", "public sealed interface ", "public enum "];

/// In the declaration of an enum whose values need not be known.
const OPEN_ENUM: &str = " extends OpenEnum ";

/// Precedes each class of a template, with the name of the class after it.
const CLASS_MARK: &str = "//// ";

/// The tag for documentation of deprecated items, which have the annotation as well.
const DEPRECATED: &str = "@deprecated Since 2026-07-28: ";

/// Classes that are not generated, which a file of another package imports if it names them.
const IMPORTS: [&str; 14] = [
    "dev.trunkline.java.Context",
    "dev.trunkline.java.JsonName",
    "dev.trunkline.java.model.Elicited",
    "dev.trunkline.java.model.Model",
    "dev.trunkline.java.model.ResourceRequest",
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
    let mut classes = Vec::new();
    for (template, text) in templates::render(&environment, SOURCES, printed)? {
        for class in text.split(CLASS_MARK).skip(1) {
            let (name, body) =
                class.split_once('\n').with_context(|| format!("a class without a body in {template}"))?;
            classes.push((format!("{}.{name}", package_of(body)), body.to_owned()));
        }
    }
    let mut imports: Vec<_> = IMPORTS.into_iter().chain(classes.iter().map(|(class, _)| class.as_str())).collect();
    imports.sort_unstable();
    Ok(classes.iter().map(|(class, body)| file(class, body, &imports)).collect())
}

fn package_of(body: &str) -> &'static str {
    let is_model = body.lines().any(|line| DATA.iter().any(|data| line.starts_with(data)) || line.contains(OPEN_ENUM));
    if is_model { MODELS } else { PACKAGE }
}

/// The file of a class, which imports those of other packages that its code and the links of its
/// comments name.
fn file(class: &str, body: &str, imports: &[&str]) -> File {
    let package = package_of(body);
    let code = body.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
    let links = body.split("{@link").skip(1).filter_map(|rest| rest.split(['#', '}']).next());
    let words: HashSet<_> = code.chain(links).flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).collect();
    let is_used =
        |import: &&&str| import.rsplit_once('.').is_some_and(|(of, name)| of != package && words.contains(name));
    let imports: String = imports.iter().filter(is_used).map(|import| format!("import {import};\n")).collect();
    let separator = if imports.is_empty() { "" } else { "\n" };
    let text = format!("// {MARK}\npackage {package};\n\n{imports}{separator}{}\n", body.trim_end());
    (format!("{SOURCES}/{}.java", class.replace('.', "/")), text)
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
