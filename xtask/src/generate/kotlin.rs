//! Generates the files of the Kotlin package from the surface: models, errors, options and
//! operations. The templates next to this file contain their text, formatted as ktlint expects it.

use anyhow::{Context, Result};
use minijinja::value::{Serde, Value};

use super::surface::Field;
use super::text::{camel, commented, snake, unmarked};
use super::{COMMAND_TIMEOUT, File, MARK, templates, typescript};
use crate::build::rust;
use crate::process::must;
use crate::stamp::files_under;
use crate::workspace::Workspace;

const FOLDER: &str = "bindings-uniffi/kotlin/src/main/kotlin/dev/trunkline/generated";
const NATIVE: &str = "bindings-uniffi/kotlin/src/generated/kotlin/trunkline.kt";

/// The generator, with the lock file that names its version.
const GENERATOR: &str = "bindings-uniffi/bindgen";

pub(crate) fn render(workspace: &Workspace, printed: &Value) -> Result<Vec<File>> {
    let mut environment = templates::environment(&workspace.path("xtask/src/generate/kotlin"))?;
    environment.add_filter("comment", |text: String, indent: usize| comment(&[text], indent));
    environment.add_filter("tagged", |docs: Vec<String>, indent: usize| comment(&docs, indent));
    environment
        .add_filter("param", |Serde(field): Serde<Field>| typescript::param_doc(&field, &camel(&field.name), ""));
    environment.add_filter("constant", |value: String| constant(&value));
    let files = templates::render(&environment, FOLDER, printed)?;
    let files = files.into_iter().map(|(path, text)| (path, format!("// {MARK}\n{text}")));
    let native = native(workspace, NATIVE, "dev/trunkline/internal/trunkline.kt")?;
    Ok(files.chain([(NATIVE.to_owned(), native)]).collect())
}

/// A KDoc comment, and the annotation of a deprecated item, which documentation shows.
fn comment(docs: &[String], indent: usize) -> String {
    let (docs, replacement) = unmarked(docs);
    let annotation = replacement.map_or_else(String::new, |replacement| {
        format!("\n{}@Deprecated(\"Since 2026-07-28: {replacement}\")", " ".repeat(indent))
    });
    commented(indent, &docs, "") + &annotation
}

/// The functions of the native library: the file of the generator for this place in the tree.
/// Building the generator takes a minute, so it only runs if what it reads has changed.
pub(super) fn native(workspace: &Workspace, place: &str, file: &str) -> Result<String> {
    let head = format!("// {MARK}\n// Hash of the interface: {:016x}\n", hash_of_interface(workspace)?);
    match std::fs::read_to_string(workspace.path(place)) {
        Ok(text) if text.starts_with(&head) => return Ok(text),
        _ => {}
    }
    let mut library = rust::cargo(workspace);
    library.args(["build", "--quiet", "--lib"]).args(rust::PACKAGES);
    must(library, COMMAND_TIMEOUT)?;
    let folder = workspace.target.join("bindgen");
    let mut bindgen = workspace.cargo();
    bindgen.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(workspace.path(GENERATOR).join("Cargo.toml"));
    bindgen.arg("--target-dir").arg(&folder).arg("--");
    bindgen.arg(workspace.built_library("trunkline_uniffi")).arg(folder.join("bindings"));
    must(bindgen, COMMAND_TIMEOUT)?;
    let file = folder.join("bindings").join(file);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(head + &text)
}

/// FNV-1a, which is the same on each machine.
fn hash_of_interface(workspace: &Workspace) -> Result<u64> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for folder in ["bindings-uniffi/native", GENERATOR] {
        for file in files_under(&workspace.path(folder))? {
            for byte in std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))? {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    Ok(hash)
}

/// The constant of a string: `NOT_STARTED` for `notStarted`, `V2026_07_28` for `2026-07-28`.
pub(super) fn constant(value: &str) -> String {
    let name = snake(value).to_uppercase().replace('-', "_");
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("V{name}") } else { name }
}
