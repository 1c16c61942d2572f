//! The npm package: its tools from the registry, the addon that cargo built, and the compiled
//! TypeScript.

use anyhow::Result;

use crate::build::{DEADLINE, installing, system};
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed};
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "bindings-node";

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let addon = workspace.path(PACKAGE).join("trunkline.node");
    copy_if_changed(&workspace.built_library("trunkline_node"), &addon)?;
    install_and_compile(workspace)
}

/// The package without its addon.
pub(crate) fn install_and_compile(workspace: &Workspace) -> Result<()> {
    install(workspace, PACKAGE)?;
    let package = workspace.path(PACKAGE);
    let mut stamp = Stamp::new(workspace, "node-typescript");
    for source in ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json"] {
        stamp = stamp.on_files(&package.join(source))?;
    }
    stamp.unless_done(&package.join("dist"), || {
        let mut npm = workspace.npm(PACKAGE);
        npm.args(["run", "--silent", "build"]);
        must(npm, DEADLINE).map(drop)
    })?;
    link_into_tree(workspace)
}

/// Lets the fixtures, examples and benches of the tree import the package by its name, and the
/// frameworks of its tests.
fn link_into_tree(workspace: &Workspace) -> Result<()> {
    if ["trunkline", "express", "hono", "@hono/node-server", "@opentelemetry", "zod"]
        .iter()
        .all(|name| workspace.path("node_modules").join(name).exists())
    {
        return Ok(());
    }
    let mut node = workspace.command("node");
    node.arg(workspace.path(PACKAGE).join("scripts").join("link.mjs"));
    must(node, DEADLINE).map(drop)
}

/// `npm ci` in a folder of the tree, unless its lock file is what is installed.
pub(crate) fn install(workspace: &Workspace, package: &str) -> Result<()> {
    let version = system::node()?;
    let folder = workspace.path(package);
    let _alone = installing();
    Stamp::new(workspace, &format!("npm-{}", package.replace('/', "-")))
        .on(&version)
        .on_files(&folder.join("package.json"))?
        .on_files(&folder.join("package-lock.json"))?
        .unless_done(&folder.join("node_modules"), || {
            let mut npm = workspace.npm(package);
            npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
            must(npm, DEADLINE).map(drop)
        })
}
