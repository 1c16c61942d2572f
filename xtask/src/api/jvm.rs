//! The listings of Kotlin and Java, from the class files that Maven has compiled.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::TIMEOUT;
use crate::build::jvm;
use crate::process::must;
use crate::stamp::{files_with, stem_of};
use crate::workspace::Workspace;

/// The classes of the adapter for Ktor, which are compiled with the tests.
const KTOR: &str = "jvm/test-classes/dev/trunkline/ktor";
/// The classes of the API for Java.
const JAVA: &str = "jvm/classes/dev/trunkline/java";

/// The ABI tools of Kotlin's Gradle plugin, which know what is `internal`.
pub(super) fn of_kotlin(workspace: &Workspace) -> Result<String> {
    jvm::build_sources(workspace)?;
    let mut java = workspace.command("java");
    java.arg("-cp").arg(workspace.target.join("jvm/abi-tools/*")).arg("tests/api/Kotlin.java");
    java.arg(jvm::classes(workspace)).args(classes(workspace, KTOR)?);
    Ok(must(java, TIMEOUT)?.stdout)
}

/// `javap`, which shows type arguments.
pub(super) fn of_java(workspace: &Workspace) -> Result<String> {
    jvm::build_sources(workspace)?;
    let mut javap = workspace.command("javap");
    javap.arg("-protected").arg("-cp").arg(jvm::classes(workspace)).args(classes(workspace, JAVA)?);
    Ok(public_classes(&must(javap, TIMEOUT)?.stdout))
}

fn classes(workspace: &Workspace, folder: &str) -> Result<Vec<PathBuf>> {
    let mut files = files_with(&workspace.target.join(folder), "class")?;
    files.retain(|file| !stem_of(file).contains("Test"));
    ensure!(!files.is_empty(), "target/{folder} has no classes: run `cargo xtask build --lang java`");
    Ok(files)
}

/// The classes that are public, without the names of their files. `javap` also shows the
/// heads of the others.
fn public_classes(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with("Compiled from "));
    let page: String = lines.map(|line| format!("{line}\n")).collect();
    let classes: Vec<(&str, &str)> = page.split_inclusive("\n}\n").map(|class| (name_of(class), class)).collect();
    let is_public = |class: &str| ["public ", "protected "].iter().any(|word| class.starts_with(word));
    let hidden: Vec<_> =
        classes.iter().filter(|(_, class)| !is_public(class)).map(|(name, _)| format!("{name}$")).collect();
    let is_inside = |name: &str| hidden.iter().any(|outer| name.starts_with(outer));
    let shown = classes.iter().filter(|(name, class)| is_public(class) && !is_inside(name));
    shown.map(|(_, class)| format!("{class}\n")).collect()
}

/// The name in the head of a class: the first word that has its package.
fn name_of(class: &str) -> &str {
    let head = class.split(" {").next().unwrap_or_default();
    head.split(['<', ' ']).find(|word| word.contains('.')).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_hidden_ones_are_hidden() {
        let page = "Compiled from \"A.java\"\npublic class x.A$B {\n  public void m();\n}\nCompiled from \"A.java\"\nfinal class x.A {\n}\n\
                    Compiled from \"C.java\"\npublic final class x.C<T> extends x.D {\n  public T t();\n}\n";
        assert_eq!(public_classes(page), "public final class x.C<T> extends x.D {\n  public T t();\n}\n\n");
    }
}
