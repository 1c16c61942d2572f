//! The page of `trunkline inspect`: its sources, its size, and its states in a browser
//! (tests/inspect).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::lint::one;
use super::suites::of_lines;
use super::{Count, Selection};
use crate::build::{node, system, web};
use crate::matrix::official_servers;
use crate::process::run;
use crate::stamp::{files_under, write_if_changed};
use crate::workspace::Workspace;

const BROWSING: &str = "tests/inspect";
/// Each state starts a server and loads the page, on a machine that tests other things too.
const TIMEOUT: Duration = Duration::from_secs(1800);

/// Bytes of the compressed files, in all and before the first edit.
const MAX_BYTES: usize = 400_000;
const MAX_BYTES_AT_FIRST: usize = 270_000;
/// The file that is loaded with the first edit.
const EDITOR: &str = "assets/editor-";
/// Lines of TypeScript and CSS by hand, without blank ones and comments.
const MAX_LINES: usize = 4000;
const GENERATED: &str = "generated";
const COMMENTS: [&str; 4] = ["//", "/*", "*", "{/*"];

/// The types and the linter, and that two builds are equal and small.
pub(crate) fn check(workspace: &Workspace, _: &Selection) -> Result<Count> {
    if let Err(error) = system::node() {
        return Ok(Count { note: error.to_string(), ..Count::default() });
    }
    node::install(workspace, web::PACKAGE)?;
    let mut npm = workspace.npm(web::PACKAGE);
    npm.args(["run", "--silent", "lint"]);
    let mut count = one(npm)?;
    count.add(built(workspace).err().map(|error| format!("not ok build of the page: {error:#}")));
    count.add(lines(workspace).err().map(|error| format!("not ok sources of the page: {error:#}")));
    Ok(count)
}

fn built(workspace: &Workspace) -> Result<()> {
    web::build(workspace)?;
    let again = workspace.target.join("inspect/dist");
    web::build_to(workspace, &again)?;
    let (first, second) = (files_in(&workspace.path(web::PACKAGE).join("dist"))?, files_in(&again)?);
    if first != second {
        bail!("two builds differ: {:?} and {:?}", first.keys(), second.keys());
    }
    let bytes = |at_first: bool| -> usize {
        let counts = |name: &str| !(at_first && name.starts_with(EDITOR));
        first.iter().filter(|(name, _)| counts(name)).map(|(_, content)| content.len()).sum()
    };
    if !first.keys().any(|name| name.starts_with(EDITOR)) {
        bail!("no file {EDITOR}*: the editor is loaded at once");
    }
    if bytes(false) > MAX_BYTES || bytes(true) > MAX_BYTES_AT_FIRST {
        bail!(
            "{} bytes, of which {} are loaded at once: at most {MAX_BYTES} and {MAX_BYTES_AT_FIRST}",
            bytes(false),
            bytes(true)
        );
    }
    Ok(())
}

fn files_in(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let named = |file: std::path::PathBuf| {
        let name = file.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
        Ok((name, std::fs::read(&file).context(file.display().to_string())?))
    };
    files_under(folder)?.into_iter().map(named).collect()
}

fn lines(workspace: &Workspace) -> Result<()> {
    let is_code = |line: &&str| !line.is_empty() && !COMMENTS.iter().any(|mark| line.starts_with(mark));
    let mut lines = 0;
    for file in files_under(&workspace.path(web::PACKAGE).join("src"))? {
        if !file.components().any(|part| part.as_os_str() == GENERATED) {
            let text = std::fs::read_to_string(&file).context(file.display().to_string())?;
            lines += text.lines().map(str::trim).filter(is_code).count();
        }
    }
    if lines > MAX_LINES {
        bail!("{lines} lines: at most {MAX_LINES}");
    }
    Ok(())
}

/// A few states in a browser.
pub(crate) fn browse(workspace: &Workspace, _: &Selection) -> Result<Count> {
    browsed(workspace, "run.mjs", &[])
}

/// Every state, in light and dark, at three widths, and the servers of the official SDKs.
pub(crate) fn browse_all(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let servers = workspace.target.join("inspect/servers.json");
    write_if_changed(&servers, &serde_json::to_vec(&official_servers(workspace))?)?;
    browsed(workspace, "run.mjs", &["--long".as_ref(), "--servers".as_ref(), servers.as_os_str()])
}

/// A login at Keycloak.
pub(crate) fn at_keycloak(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let home = system::keycloak(workspace)?;
    browsed(workspace, "keycloak.mjs", &["--keycloak".as_ref(), home.as_os_str()])
}

fn browsed(workspace: &Workspace, program: &str, options: &[&OsStr]) -> Result<Count> {
    if !cfg!(target_os = "linux") {
        return Ok(Count { note: "in a browser on Linux only".to_owned(), ..Count::default() });
    }
    let browser = system::chromium()?;
    node::install(workspace, BROWSING)?;
    let mut node = workspace.command("node");
    node.arg(workspace.path(BROWSING).join(program)).args(options);
    node.arg("--browser").arg(browser).arg("--pictures").arg(workspace.target.join("inspect/pictures"));
    node.arg(workspace.built("trunkline")).arg(workspace.built("fixture-server"));
    Ok(of_lines(&run(node, TIMEOUT)?))
}
