//! The official SDKs of Java and Kotlin, which Maven compiles in `target/jvm-peers`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::build::{DEADLINE, jvm};
use crate::process::must;
use crate::stamp::{Stamp, write_if_changed};
use crate::workspace::Workspace;

const PROJECT: &str = "tests/peers/java";
const SOURCES: [&str; 2] = [PROJECT, "tests/peers/kotlin"];
const PROGRAMS: [(&str, &str); 2] = [("java", "peer.java.Peer"), ("kotlin", "peer.PeerKt")];
/// What a program plays with itself to load the classes that a start needs.
const WARM_UP: &str = r#"{"plays": [{"revision": "auto", "do": [{"listTools": {}}, {"ping": {}}]}]}"#;

pub(super) fn install(workspace: &Workspace) -> Result<()> {
    let mut stamp = Stamp::new(workspace, "jvm-peers").on(&jvm::START.join(" "));
    for folder in SOURCES {
        stamp = stamp.on_files(&workspace.path(folder))?;
    }
    let last = PROGRAMS.map(|(language, _)| language)[PROGRAMS.len() - 1];
    stamp.unless_done(&archive(workspace, last), || {
        compile(workspace)?;
        PROGRAMS.into_iter().try_for_each(|(language, class)| {
            write_options(workspace, language, class)?;
            write_archive(workspace, language)
        })
    })
}

/// The command line of a program.
pub(crate) fn program(workspace: &Workspace, language: &str) -> Vec<PathBuf> {
    let archive = format!("-XX:SharedArchiveFile={}", archive(workspace, language).display());
    vec!["java".into(), archive.into(), options(workspace, language).into()]
}

/// Classes can only be archived from JAR files.
fn compile(workspace: &Workspace) -> Result<()> {
    let _ = std::fs::remove_dir_all(dependencies(workspace)); // Maven leaves those of before.
    let mut maven = jvm::maven(workspace, &["process-classes"]);
    maven.current_dir(workspace.path(PROJECT));
    must(maven, DEADLINE)?;
    let mut jar = workspace.command("jar");
    jar.arg("--create").arg("--file").arg(jar_file(workspace));
    jar.arg("-C").arg(folder(workspace).join("classes")).arg(".");
    must(jar, DEADLINE).map(drop)
}

fn write_options(workspace: &Workspace, language: &str, class: &str) -> Result<()> {
    let files = std::fs::read_dir(dependencies(workspace)).context("Maven has copied no dependencies")?;
    let mut places = files.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    places.sort();
    places.insert(0, jar_file(workspace));
    let places = std::env::join_paths(places)?;
    let options = format!("{}\n-cp {places:?}\n{class}\n", jvm::START.join("\n"));
    write_if_changed(&folder(workspace).join(format!("{language}.options")), options.as_bytes())
}

/// Stores the classes that a start loads in parsed form.
fn write_archive(workspace: &Workspace, language: &str) -> Result<()> {
    let play = folder(workspace).join("warm-up.json");
    write_if_changed(&play, WARM_UP.as_bytes())?;
    let options = options(workspace, language);
    let mut java = workspace.command("java");
    java.arg(format!("-XX:ArchiveClassesAtExit={}", archive(workspace, language).display()));
    java.args([&options, "client", "--play"]).arg(play).args(["--stdio", "java", &options, "server", "stdio"]);
    must(java, DEADLINE).map(drop)
}

fn options(workspace: &Workspace, language: &str) -> String {
    format!("@{}", folder(workspace).join(format!("{language}.options")).display())
}

fn archive(workspace: &Workspace, language: &str) -> PathBuf {
    folder(workspace).join(format!("{language}.jsa"))
}

fn jar_file(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("peers.jar")
}

fn dependencies(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("dependency")
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("jvm-peers")
}
