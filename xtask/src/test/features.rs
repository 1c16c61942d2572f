//! Compiles the crate `trunkline` without warnings with those combinations of its cargo features
//! that make sense. cargo-hack would try every subset, or each feature alone.
//!
//! The combinations without `tokio` also prove the layers: `server`, `client` and `auth` alone
//! cannot import a runtime, nor each other. The list is explicit, because most of the 524,288
//! subsets have no difference, and each costs seconds.

use std::time::Duration;

use anyhow::Result;

use crate::build::c::Workshop;
use crate::process::run;
use crate::test::{Count, Selection, lint, results};
use crate::workspace::Workspace;

/// Each layer and each transport alone, and what servers and clients usually combine. Other
/// commands build with the feature `full`.
const COMBINATIONS: [&str; 24] = [
    "server",
    "client",
    "auth",
    "server,stdio",
    "http-server",
    "http-client",
    "server,client,tokio",
    "server,stdio,request-state,schema-validation",
    "http-server,auth",
    "skills",
    "client,child-process",
    "http-client,auth",
    "client,skills",
    "client,terminal",
    "testing",
    "client,config-files",
    "server,directories",
    "login",
    "keychain",
    "child-process,http-client,schema-validation",
    "server,stdio,store-sqlite",
    "server,http-server,store-redis",
    "server,stdio,opentelemetry",
    "client,http-client,opentelemetry",
];
/// The features as `Cargo.toml` lists them.
const MANIFEST: &str = "core/Cargo.toml";
/// Features that stand for others, or for dependencies of the crate.
const COLLECTIONS: [&str; 3] = ["default", "full", "bridge"];
/// The program with the small library may take this long.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let manifest = workspace.text(MANIFEST)?;
    let forgotten = forgotten(&manifest);
    let mut count = Count::default();
    count.add(forgotten.iter().map(|name| format!("no combination in xtask/src/test/features.rs has `{name}`")));
    count.add(lost_rules(workspace)?);
    for features in COMBINATIONS {
        let mut cargo = workspace.cargo();
        cargo.args(["check", "--quiet", "--package", "trunkline", "--no-default-features", "--features", features]);
        count = count.and(lint::silent(cargo)?);
    }
    Ok(count.and(library_for_ios(workspace)?).and(small_library(workspace)?))
}

/// The library of the Swift package as it is on iOS, without child processes.
fn library_for_ios(workspace: &Workspace) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["check", "--quiet", "--package", "trunkline-uniffi", "--no-default-features"]);
    lint::silent(cargo)
}

/// The C library without its features, which must compile without warnings, and a program that
/// expects the errors of the missing parts.
fn small_library(workspace: &Workspace) -> Result<Count> {
    let target = workspace.target.join("small");
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--quiet", "--package", "trunkline-c", "--no-default-features", "--target-dir"]).arg(&target);
    let built = lint::silent(cargo)?;
    if built.failed > 0 {
        return Ok(built);
    }
    let workshop = Workshop { library: target.join("debug"), programs: target, optimise: false };
    workshop.place_library(workspace)?;
    workshop.compile(workspace, "none", &workspace.path("bindings-c/tests/features/none.c"))?;
    let output = run(workspace.command(workshop.program("none")), RUN_TIMEOUT)?;
    Ok(built.and(results::of_one(&output)))
}

/// Rules of `clippy.toml` that a nested file lacks, because clippy only reads the nearest one.
fn lost_rules(workspace: &Workspace) -> Result<Vec<String>> {
    let all = workspace.text("clippy.toml")?;
    let rules = || all.lines().map(str::trim).filter(|line| !line.starts_with('#') && line.len() > 1);
    let mut lost = Vec::new();
    for file in ["core/clippy.toml", "core/proto/clippy.toml"] {
        let text = workspace.text(file)?;
        let has = |rule: &str| text.lines().any(|line| line.trim() == rule);
        lost.extend(rules().filter(|rule| !has(rule)).map(|rule| format!("{file} lacks `{rule}` of clippy.toml")));
    }
    Ok(lost)
}

/// Features of the manifest that are in no combination.
fn forgotten(manifest: &str) -> Vec<&str> {
    let table = manifest.split("\n[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let names = table.lines().filter_map(|line| line.split_once(" = [").map(|(name, _)| name));
    let is_tried =
        |name: &&str| COMBINATIONS.iter().any(|features| features.split(',').any(|feature| feature == *name));
    names.filter(|name| !COLLECTIONS.contains(name) && !is_tried(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_nothing_tries_is_found() {
        let manifest = "[package]\n\n[features]\ndefault = [\"full\"]\nserver = [\n    \"dep:x\",\n]\nnew-one = []\n\n[dependencies]\nx = [1]\n";
        assert_eq!(forgotten(manifest), ["new-one"]);
    }
}
