//! Builds the page of `trunkline inspect`, which the program has in it.

use std::path::Path;

use anyhow::Result;

use crate::build::{BUILD_TIMEOUT, installing, node, system};
use crate::process::must;
use crate::stamp::Stamp;
use crate::workspace::Workspace;

pub(crate) const PACKAGE: &str = "cli/web";

/// The inputs of the build.
const SOURCES: [&str; 6] = ["index.html", "package-lock.json", "public", "src", "tsconfig.json", "vite.config.mjs"];

/// The page, before the program. Without Node.js, the program says how to build it.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    if system::node().is_err() {
        return Ok(());
    }
    node::install(workspace, PACKAGE)?;
    let package = workspace.path(PACKAGE);
    // A step of the tests builds it too.
    let _alone = installing();
    Stamp::new(workspace, "inspect-page")
        .on_files(SOURCES.map(|source| package.join(source)))?
        .unless_done(&package.join("dist/index.html.gz"), || build_to(workspace, Path::new("dist")))
}

/// Builds it to a folder, which must be in the package unless its path is absolute.
pub(crate) fn build_to(workspace: &Workspace, folder: &Path) -> Result<()> {
    let mut npm = workspace.npm(PACKAGE);
    npm.args(["run", "--silent", "build", "--", "--emptyOutDir", "--logLevel", "warn", "--outDir"]).arg(folder);
    must(npm, BUILD_TIMEOUT).map(drop)
}
