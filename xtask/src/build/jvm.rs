//! Kotlin and Java: the package, its tests and its fixtures, which Maven compiles in `target/jvm`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::build::BUILD_TIMEOUT;
use crate::generate::text::pascal;
use crate::process::must;
use crate::stamp::{Stamp, files_with, stem_of, write_if_changed};
use crate::workspace::Workspace;

const PACKAGE: &str = "bindings-uniffi/kotlin";

/// Compiles programs in Kotlin that are in no package.
const PASTED: &str = "tests/kotlin-calls";

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

/// The languages, which are one package, and the extensions of their sources.
const LANGUAGES: [(&str, &str); 2] = [("kotlin", "kt"), ("java", "java")];

/// The roles of fixtures. Each loads different classes.
const ROLES: [&str; 2] = ["server", "client"];

/// Runs the snippets.
const RUNNER: &str = "snippets.Run";
const SNIPPETS: &str = "all-snippets";

/// Where Maven copies the dependencies of the package, and those of its tests and the snippets.
pub(super) const DEPENDENCIES: &str = "dependency";
const TEST_DEPENDENCIES: &str = "test-dependency";

/// A JVM with these starts quickly, and collects garbage early, because the scars measure what is
/// kept: by default, the heap is so large that old garbage is never collected.
pub(super) const JVM_OPTIONS: [&str; 6] = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmn2m",
    "-Xms6m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=20",
];

/// The package, its tests and its fixtures.
const HOME: Home = Home("jvm");

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    place_library(workspace)?;
    build_sources(workspace)?;
    for (language, _) in LANGUAGES {
        let [server, client] = ROLES.map(|role| format!("{language}-{role}"));
        if ![&server, &client].iter().all(|archive| HOME.archive(workspace, archive).exists()) {
            let archiving = HOME.archiving(workspace, &server);
            let [serve, call] = ROLES.map(|role| HOME.options(workspace, &format!("{language}-fixture-{role}")));
            HOME.write_archive(workspace, &client, &[&call, "--auto", "--stdio", "java", &archiving, &serve])?;
        }
    }
    Ok(())
}

/// Everything that needs no native library.
pub(crate) fn build_sources(workspace: &Workspace) -> Result<()> {
    let package = workspace.path(PACKAGE);
    let others = ["bindings-uniffi/java/src", "bindings-uniffi/ktor/src", "docs/snippets", "tests/snippets"];
    let mut stamp = Stamp::new(workspace, "jvm")
        .on(&JVM_OPTIONS.join(" "))
        .on_files(["pom.xml", "src"].map(|source| package.join(source)))?
        .on_files(others.map(|folder| workspace.path(folder)))?;
    for (language, extension) in LANGUAGES {
        for folder in ["tests/fixtures", "examples", "benches"] {
            // The launchers, which other steps write there, are no inputs.
            stamp = stamp.on_files(files_with(&workspace.path(&format!("{folder}/{language}")), extension)?)?;
        }
    }
    stamp.unless_done(&HOME.folder(workspace).join(DEPENDENCIES), || {
        HOME.compile(workspace, maven(workspace, &["process-test-classes"]))?;
        write_options(workspace)?;
        for (language, role) in LANGUAGES.iter().flat_map(|(language, _)| ROLES.map(|role| (language, role))) {
            let _ = std::fs::remove_file(HOME.archive(workspace, &format!("{language}-{role}")));
        }
        Ok(())
    })
}

/// Runs Maven in the package.
///
/// Its JVM compiles with C1 only: the package takes 46 s of the processors then, 78 s otherwise.
/// Kotlin's daemon, which does not get these options, would take 64 s, and keep 2.7 GB for hours.
pub(crate) fn maven(workspace: &Workspace, goals: &[&str]) -> Command {
    let mut maven = workspace.command("mvn");
    let options = std::env::var("MAVEN_OPTS").unwrap_or_default();
    maven.env("MAVEN_OPTS", format!("{options} -XX:+UseSerialGC -XX:TieredStopAtLevel=1"));
    maven.current_dir(workspace.path(PACKAGE)).args(["--batch-mode", "--no-transfer-progress"]);
    maven.arg("-Dkotlin.compiler.daemon=false").args(goals);
    maven
}

/// The archive of the package.
pub(crate) fn classes(workspace: &Workspace) -> PathBuf {
    HOME.folder(workspace).join("classes.jar")
}

/// The command line of a program.
pub(crate) fn program(workspace: &Workspace, language: &str, name: &str) -> Vec<PathBuf> {
    let role = name.rsplit('-').next().unwrap_or_default();
    HOME.program(workspace, &format!("{language}-{role}"), &format!("{language}-{name}"))
}

/// The command that runs the snippets of a language.
pub(crate) fn snippets(workspace: &Workspace, language: &str) -> Command {
    let mut java = workspace.command("java");
    java.current_dir(workspace.path("docs/snippets")).args([&HOME.options(workspace, SNIPPETS), RUNNER, language]);
    java
}

/// The command that runs a snippet or an example.
pub(crate) fn start(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut java = workspace.command("java");
    java.current_dir(source.parent().context("a program lies in a folder")?);
    java.args([HOME.options(workspace, SNIPPETS), class_of(workspace, source)?]);
    Ok(java)
}

/// The command that runs a program in Java that is in no package. Java compiles it in memory.
pub(crate) fn start_pasted_java(workspace: &Workspace, source: &Path) -> Result<Command> {
    let mut java = workspace.command("java");
    java.arg(HOME.options(workspace, SNIPPETS)).arg(source);
    Ok(java)
}

/// The command that runs a program in Kotlin that is in no package. It is compiled with those next
/// to it.
pub(crate) fn start_pasted_kotlin(workspace: &Workspace, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a program lies in a folder")?;
    let libraries = HOME.class_path(workspace, TEST_DEPENDENCIES, Some(native(workspace)))?;
    let compiled = folder.join("target/classes");
    let stamp = Stamp::new(workspace, "kotlin-pasted").on(&libraries.to_string_lossy());
    stamp
        .on_files([workspace.path(PASTED).join("pom.xml"), classes(workspace)])?
        .on_files(files_with(folder, "kt")?)?
        .unless_done(&compiled, || {
            let mut maven = maven(workspace, &["kotlin:compile@programs"]);
            maven.current_dir(workspace.path(PASTED)).arg(format!("-Dprograms={}", folder.display()));
            maven.arg(format!("-Dlibraries={}", libraries.to_string_lossy()));
            must(maven, BUILD_TIMEOUT).map(drop)
        })?;
    let places = std::env::split_paths(&libraries).chain([compiled]);
    let mut java = workspace.command("java");
    java.arg("-cp").arg(std::env::join_paths(places)?).arg(format!("{}Kt", stem_of(source)));
    Ok(java)
}

/// The class of a program: its name in camel case, in the package that the file names.
fn class_of(workspace: &Workspace, source: &Path) -> Result<String> {
    let text = workspace.text(source)?;
    let package = text.lines().find_map(|line| line.strip_prefix("package "));
    let class = pascal(&stem_of(source));
    Ok(package.map_or(class.clone(), |package| format!("{}.{class}", package.trim_end_matches(';'))))
}

fn write_options(workspace: &Workspace) -> Result<()> {
    let places = HOME.class_path(workspace, DEPENDENCIES, None)?;
    let library = workspace.target.join("debug");
    for (language, name, class) in PROGRAMS {
        let options = format!("-Djna.library.path={library:?}\n-cp {places:?}\n{class}");
        HOME.write_options(workspace, &format!("{language}-{name}"), &options)?;
    }
    let places = HOME.class_path(workspace, TEST_DEPENDENCIES, Some(native(workspace)))?;
    HOME.write_options(workspace, SNIPPETS, &format!("-cp {places:?}"))
}

/// Writes the options of a program with the optimized library, which runs as users would run it.
pub(crate) fn write_bench_options(workspace: &Workspace, file: &Path, class: &str, library: &Path) -> Result<()> {
    let places = HOME.class_path(workspace, DEPENDENCIES, None)?;
    write_if_changed(file, format!("-Djna.library.path={library:?}\n-cp {places:?}\n{class}\n").as_bytes())
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

/// The folder with the native library in a folder of its platform.
pub(crate) fn native(workspace: &Workspace) -> PathBuf {
    HOME.folder(workspace).join("native")
}

/// A directory in the target directory, in which Maven compiles programs.
pub(super) struct Home(pub(super) &'static str);

impl Home {
    fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(self.0)
    }

    /// The command line of a program. Java reads its options from a file.
    pub(super) fn program(&self, workspace: &Workspace, archive: &str, name: &str) -> Vec<PathBuf> {
        let archive = format!("-XX:SharedArchiveFile={}", self.archive(workspace, archive).display());
        vec!["java".into(), archive.into(), self.options(workspace, name).into()]
    }

    /// The argument for the options of a program.
    pub(super) fn options(&self, workspace: &Workspace, name: &str) -> String {
        format!("@{}", self.folder(workspace).join(format!("{name}.options")).display())
    }

    pub(super) fn write_options(&self, workspace: &Workspace, name: &str, options: &str) -> Result<()> {
        let options = format!("{}\n{options}\n", JVM_OPTIONS.join("\n"));
        write_if_changed(&self.folder(workspace).join(format!("{name}.options")), options.as_bytes())
    }

    /// Compiles everything. Classes can only be archived from JAR files.
    pub(super) fn compile(&self, workspace: &Workspace, maven: Command) -> Result<()> {
        // Two that download at the same time would write the same files.
        static DOWNLOADING: Mutex<()> = Mutex::new(());
        let _alone = DOWNLOADING.lock().unwrap_or_else(PoisonError::into_inner);
        for dependencies in [DEPENDENCIES, TEST_DEPENDENCIES] {
            // Maven leaves those of before.
            let _ = std::fs::remove_dir_all(self.folder(workspace).join(dependencies));
        }
        must(maven, BUILD_TIMEOUT)?;
        for classes in self.classes(workspace) {
            let mut jar = workspace.command("jar");
            jar.arg("--create").arg("--file").arg(classes.with_extension("jar")).arg("-C").arg(classes).arg(".");
            must(jar, BUILD_TIMEOUT)?;
        }
        Ok(())
    }

    /// The classes that Maven has compiled.
    fn classes(&self, workspace: &Workspace) -> Vec<PathBuf> {
        let folders = ["classes", "test-classes"].map(|name| self.folder(workspace).join(name));
        folders.into_iter().filter(|folder| folder.exists()).collect()
    }

    /// The classes, the dependencies that Maven has copied, and one more place.
    pub(super) fn class_path(
        &self,
        workspace: &Workspace,
        dependencies: &str,
        more: Option<PathBuf>,
    ) -> Result<OsString> {
        let classes = self.classes(workspace).into_iter().map(|classes| classes.with_extension("jar"));
        let dependencies = files_with(&self.folder(workspace).join(dependencies), "jar")?;
        Ok(std::env::join_paths(classes.chain(dependencies).chain(more))?)
    }

    pub(super) fn archive(&self, workspace: &Workspace, name: &str) -> PathBuf {
        self.folder(workspace).join(format!("{name}.jsa"))
    }

    /// The option that writes an archive.
    fn archiving(&self, workspace: &Workspace, name: &str) -> String {
        format!("-XX:ArchiveClassesAtExit={}", self.archive(workspace, name).display())
    }

    /// Stores the classes that a start loads in parsed form, which halves its time. A JVM that the
    /// archive does not fit ignores it.
    pub(super) fn write_archive(&self, workspace: &Workspace, name: &str, arguments: &[&str]) -> Result<()> {
        let mut java = workspace.command("java");
        java.arg(self.archiving(workspace, name)).args(arguments);
        must(java, BUILD_TIMEOUT).map(drop)
    }
}
