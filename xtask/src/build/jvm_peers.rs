//! The official SDKs of Java and Kotlin, which Maven compiles in `target/jvm-peers`.

use std::path::PathBuf;

use anyhow::Result;

use crate::build::jvm::{self, DEPENDENCIES, Home};
use crate::stamp::{Stamp, write_if_changed};
use crate::workspace::Workspace;

const HOME: Home = Home("jvm-peers");
const PROJECT: &str = "tests/peers/java";
const SOURCES: [&str; 2] = [PROJECT, "tests/peers/kotlin"];
const PROGRAMS: [(&str, &str); 2] = [("java", "peer.java.Peer"), ("kotlin", "peer.PeerKt")];
/// A program plays this with itself to load the classes that a start needs.
const WARM_UP: &str = r#"{"plays": [{"revision": "auto", "do": [{"listTools": {}}, {"ping": {}}]}]}"#;

pub(super) fn install(workspace: &Workspace) -> Result<()> {
    let stamp = Stamp::new(workspace, "jvm-peers").on(&jvm::JVM_OPTIONS.join(" "));
    stamp.on_files(SOURCES.map(|folder| workspace.path(folder)))?.unless_done(
        &HOME.archive(workspace, PROGRAMS[1].0),
        || {
            let mut maven = jvm::maven(workspace, &["process-classes"]);
            maven.current_dir(workspace.path(PROJECT));
            HOME.compile(workspace, maven)?;
            let places = HOME.class_path(workspace, DEPENDENCIES, None)?;
            let play = workspace.target.join("jvm-peers-warm-up.json");
            write_if_changed(&play, WARM_UP.as_bytes())?;
            for (language, class) in PROGRAMS {
                HOME.write_options(workspace, language, &format!("-cp {places:?}\n{class}"))?;
                let (options, play) = (HOME.options(workspace, language), play.to_string_lossy());
                let plays = [&options, "client", "--play", &play, "--stdio", "java", &options, "server", "stdio"];
                HOME.write_archive(workspace, language, &plays)?;
            }
            Ok(())
        },
    )
}

/// The command line of a program.
pub(crate) fn program(workspace: &Workspace, language: &str) -> Vec<PathBuf> {
    HOME.program(workspace, language, language)
}
