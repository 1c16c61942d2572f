//! Kotlin and Java: the package, its tests and its fixtures, which Maven compiles in `target/jvm`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::DEADLINE;
use crate::generate::text::pascal;
use crate::process::must;
use crate::stamp::{Stamp, write_if_changed};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-uniffi/kotlin";

/// The programs of `tests/fixtures`, with their languages and classes.
const PROGRAMS: [(&str, &str, &str); 8] = [
    ("kotlin", "fixture-server", "fixture.ServerKt"),
    ("kotlin", "fixture-client", "fixture.ClientKt"),
    ("kotlin", "scars-server", "fixture.scars.ServerKt"),
    ("kotlin", "scars-client", "fixture.scars.ClientKt"),
    ("java", "fixture-server", "fixture.java.FixtureServer"),
    ("java", "fixture-client", "fixture.java.FixtureClient"),
    ("java", "scars-server", "fixture.java.scars.ScarsServer"),
    ("java", "scars-client", "fixture.java.scars.ScarsClient"),
];

/// The languages, which are one package.
const LANGUAGES: [&str; 2] = ["kotlin", "java"];

/// Runs the snippets.
const RUNNER: &str = "snippets.Run";
const SNIPPETS: &str = "snippets";

/// Where Maven copies the dependencies of the package, and those of its tests and the snippets.
const DEPENDENCIES: &str = "dependency";
const TEST_DEPENDENCIES: &str = "test-dependency";

/// The package, and its tests with the fixtures.
const CLASSES: [&str; 2] = ["classes", "test-classes"];

/// Options of a JVM that starts quickly, and that collects garbage early, because the scars measure
/// what is kept: by default, the heap is so large that old garbage is never collected.
pub(super) const START: [&str; 6] = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmn2m",
    "-Xms6m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=20",
];

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let package = workspace.path(PACKAGE);
    let mut stamp = Stamp::new(workspace, "jvm")
        .on(&START.join(" "))
        .on_files(&package.join("pom.xml"))?
        .on_files(&package.join("src"))?
        .on_files(&workspace.path("bindings-uniffi/java/src"))?
        .on_files(&workspace.path("bindings-uniffi/ktor/src"))?;
    for language in LANGUAGES {
        for folder in ["tests/fixtures", "examples", "benches"] {
            stamp = stamp.on_files(&workspace.path(&format!("{folder}/{language}")))?;
        }
    }
    for folder in ["docs/snippets", "tests/snippets"] {
        stamp = stamp.on_files(&workspace.path(folder))?;
    }
    place_library(workspace)?;
    stamp.unless_done(&archive(workspace, LANGUAGES[1]), || {
        compile(workspace)?;
        write_options(workspace)?;
        LANGUAGES.into_iter().try_for_each(|language| write_archive(workspace, language))
    })
}

/// Runs Maven in the package.
pub(crate) fn maven(workspace: &Workspace, goals: &[&str]) -> Command {
    let mut maven = workspace.command("mvn");
    maven.current_dir(workspace.path(PACKAGE)).args(["--batch-mode", "--no-transfer-progress"]).args(goals);
    maven
}

/// The command line of a program. Java reads its options from a file.
pub(crate) fn program(workspace: &Workspace, language: &str, name: &str) -> Vec<PathBuf> {
    let archive = format!("-XX:SharedArchiveFile={}", archive(workspace, language).display());
    vec!["java".into(), archive.into(), options_of(workspace, language, name).into()]
}

/// The command that runs the snippets of a language.
pub(crate) fn snippets(workspace: &Workspace, language: &str) -> Command {
    let mut java = workspace.command("java");
    java.current_dir(workspace.path("docs/snippets")).arg(options_of(workspace, "all", SNIPPETS)).arg(RUNNER);
    java.arg(language);
    java
}

/// The command that runs a snippet or an example.
pub(crate) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut java = workspace.command("java");
    java.current_dir(source.parent().context("a program lies in a folder")?);
    java.arg(options_of(workspace, "all", SNIPPETS)).arg(class_of(source)?);
    Ok(java)
}

/// The class of a program: its name in camel case, in the package that the file names.
fn class_of(source: &Path) -> Result<String> {
    let text = std::fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
    let package = text.lines().find_map(|line| line.strip_prefix("package "));
    let class = pascal(&source.file_stem().unwrap_or_default().to_string_lossy());
    Ok(package.map_or(class.clone(), |package| format!("{}.{class}", package.trim_end_matches(';'))))
}

/// Compiles everything. Classes can only be archived from JAR files.
fn compile(workspace: &Workspace) -> Result<()> {
    for dependencies in [DEPENDENCIES, TEST_DEPENDENCIES] {
        // Maven leaves those of before.
        let _ = std::fs::remove_dir_all(folder(workspace).join(dependencies));
    }
    must(maven(workspace, &["process-test-classes"]), DEADLINE)?;
    for (classes, file) in CLASSES.into_iter().zip(jar_files(workspace)) {
        let mut jar = workspace.command("jar");
        jar.arg("--create").arg("--file").arg(file).arg("-C").arg(folder(workspace).join(classes)).arg(".");
        must(jar, DEADLINE)?;
    }
    Ok(())
}

fn write_options(workspace: &Workspace) -> Result<()> {
    let write = |language: &str, name: &str, options: String| {
        let options = format!("{}\n{options}\n", START.join("\n"));
        write_if_changed(&folder(workspace).join(format!("{language}-{name}.options")), options.as_bytes())
    };
    let places = class_path(workspace, DEPENDENCIES, [])?;
    let library = workspace.target.join("debug");
    for (language, name, class) in PROGRAMS {
        write(language, name, format!("-Djna.library.path={library:?}\n-cp {places:?}\n{class}"))?;
    }
    let places = class_path(workspace, TEST_DEPENDENCIES, [native(workspace)])?;
    write("all", SNIPPETS, format!("-cp {places:?}"))
}

/// Writes the options of a program with the optimized library, which runs as users would run it.
pub(crate) fn write_bench_options(workspace: &Workspace, file: &Path, class: &str) -> Result<()> {
    let places = class_path(workspace, DEPENDENCIES, [])?;
    let library = workspace.target.join("release");
    write_if_changed(file, format!("-Djna.library.path={library:?}\n-cp {places:?}\n{class}\n").as_bytes())
}

/// The classes, the dependencies that Maven has copied, and more.
fn class_path<const N: usize>(workspace: &Workspace, dependencies: &str, more: [PathBuf; N]) -> Result<OsString> {
    let files = std::fs::read_dir(folder(workspace).join(dependencies)).context("Maven has copied no dependencies")?;
    let mut places = files.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    places.sort();
    places.splice(0..0, jar_files(workspace));
    places.extend(more);
    Ok(std::env::join_paths(places)?)
}

/// Places the native library where JNA finds it on the class path: programs that start each other
/// only pass that on.
fn place_library(workspace: &Workspace) -> Result<()> {
    let library = workspace.built_library("trunkline_uniffi");
    let place = native(workspace).join(jna_platform()).join(library.file_name().context("a library has a name")?);
    std::fs::create_dir_all(place.parent().context("a file lies in a folder")?)?;
    let _ = std::fs::remove_file(&place);
    #[cfg(unix)]
    std::os::unix::fs::symlink(&library, &place)?;
    #[cfg(not(unix))]
    std::fs::copy(&library, &place)?;
    Ok(())
}

/// JNA's name of this platform, such as `linux-x86-64`.
fn jna_platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    format!("{system}-{}", std::env::consts::ARCH.replace('_', "-"))
}

fn native(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("native")
}

/// Stores the classes that a start loads in parsed form, which halves its time. A JVM that the
/// archive does not fit ignores it.
fn write_archive(workspace: &Workspace, language: &str) -> Result<()> {
    let [server, client] = ["fixture-server", "fixture-client"].map(|name| options_of(workspace, language, name));
    let mut java = workspace.command("java");
    java.arg(format!("-XX:ArchiveClassesAtExit={}", archive(workspace, language).display()));
    java.args([&client, "--auto", "--stdio", "java", &server]);
    must(java, DEADLINE).map(drop)
}

fn options_of(workspace: &Workspace, language: &str, name: &str) -> String {
    format!("@{}", folder(workspace).join(format!("{language}-{name}.options")).display())
}

fn jar_files(workspace: &Workspace) -> [PathBuf; 2] {
    CLASSES.map(|classes| folder(workspace).join(format!("{classes}.jar")))
}

fn archive(workspace: &Workspace, language: &str) -> PathBuf {
    folder(workspace).join(format!("{language}.jsa"))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("jvm")
}
