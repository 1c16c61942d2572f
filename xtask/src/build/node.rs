//! Builds the npm package: its tools from the registry, the addon that cargo built, and the
//! compiled TypeScript.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::build::{BUILD_TIMEOUT, installing, system};
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, files_with, write_if_changed};
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "bindings-node";

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let addon = workspace.path(PACKAGE).join("trunkline.node");
    copy_if_changed(&workspace.built_library("trunkline_node"), &addon)?;
    build_sources(workspace)
}

/// The package without its addon.
pub(crate) fn build_sources(workspace: &Workspace) -> Result<()> {
    let _alone = installing();
    run_npm_ci(workspace, PACKAGE)?;
    let package = workspace.path(PACKAGE);
    let sources = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json"];
    let stamp = Stamp::new(workspace, "node-typescript").on_files(sources.map(|source| package.join(source)))?;
    stamp.unless_done(&package.join("dist"), || {
        let mut npm = workspace.npm(PACKAGE);
        npm.args(["run", "--silent", "build"]);
        must(npm, BUILD_TIMEOUT).map(drop)
    })?;
    link_into_tree(workspace)
}

/// Lets the fixtures, examples and benchmarks in the tree import the package by name, and the
/// frameworks of its tests.
fn link_into_tree(workspace: &Workspace) -> Result<()> {
    if ["trunkline", "ai", "express", "hono", "@hono/node-server", "@opentelemetry", "zod"]
        .iter()
        .all(|name| workspace.path("node_modules").join(name).exists())
    {
        return Ok(());
    }
    let mut node = workspace.command("node");
    node.arg(workspace.path(PACKAGE).join("scripts").join("link.mjs"));
    must(node, BUILD_TIMEOUT).map(drop)
}

/// Compiles all TypeScript programs in a directory in one run, next to the packages that they
/// import.
pub(crate) fn compiled(workspace: &Workspace, sources: &Path) -> Result<PathBuf> {
    let name = sources.strip_prefix(&workspace.root)?.to_string_lossy().replace(['/', '\\'], "-");
    let folder = workspace.path(&format!("node_modules/.{name}"));
    let _alone = installing();
    let shared = ["bindings-node/dist", "bindings-node/package-lock.json", "docs/snippets/tsconfig.json"];
    let stamp = Stamp::new(workspace, &name)
        .on_files(shared.map(|file| workspace.path(file)))?
        .on_files([sources.join("tsconfig.json")])?
        .on_files(files_with(sources, "ts")?)?;
    stamp.unless_done(&folder, || {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        write_if_changed(&folder.join("package.json"), b"{\"type\": \"module\"}\n")?;
        let mut tsc = workspace.command("node");
        tsc.arg("bindings-node/node_modules/typescript/bin/tsc").arg("--project").arg(sources.join("tsconfig.json"));
        tsc.arg("--outDir").arg(&folder);
        must(tsc, BUILD_TIMEOUT).map(drop)
    })?;
    Ok(folder)
}

/// Runs `npm ci` in a directory, unless its lock file is already installed.
pub(crate) fn install(workspace: &Workspace, package: &str) -> Result<()> {
    let _alone = installing();
    run_npm_ci(workspace, package)
}

/// The same, for a caller that has a lock for the directory.
pub(super) fn run_npm_ci(workspace: &Workspace, package: &str) -> Result<()> {
    let version = system::node()?;
    let folder = workspace.path(package);
    Stamp::new(workspace, &format!("npm-{}", package.replace('/', "-")))
        .on(&version)
        .on_files(["package.json", "package-lock.json"].map(|file| folder.join(file)))?
        .unless_done(&folder.join("node_modules"), || {
            let mut npm = workspace.npm(package);
            npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=http"]);
            must(npm, BUILD_TIMEOUT).map(drop)
        })
}
