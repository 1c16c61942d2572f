//! Builds the page of `trunkline inspect`, which the program has in it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::build::{BUILD_TIMEOUT, node, system};
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
    // A step of the tests builds it too. The lock is not that of all installations, because the
    // crates wait for the page.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    node::run_npm_ci(workspace, PACKAGE)?;
    let package = workspace.path(PACKAGE);
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
