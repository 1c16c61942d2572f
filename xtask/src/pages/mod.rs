//! The pages of `docs/`: the code that they show, and the documentation site generated from them.

mod block;
mod llms;
mod markup;
mod navigation;
mod set;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::build::python;
use crate::process::{run, tail};
use crate::requirements;
use crate::stamp::{files_under, write_if_changed};
use crate::workspace::Workspace;

pub(crate) use block::{Block, blocks};
pub(crate) use navigation::{Entry, entries};
pub(crate) use set::{LINKS, linked, programs};

const BUILD_TIMEOUT: Duration = Duration::from_secs(120);
/// The virtual environment of the site generator, which `docs/requirements.txt` pins.
pub(crate) const VENV: &str = "docs";
/// The pictures of the pages.
const IMAGES: &str = "docs/images";
/// Links to files that are not pages lead here.
const REPOSITORY: &str = "https://github.com/trunkline-mcp/trunkline/blob/main/";
/// The address of the site, as in `docs/zensical.toml`.
pub(crate) const SITE: &str = "https://trunkline-mcp.github.io/trunkline/";

/// `cargo xtask site`: updates the code on the pages from its files, and builds the site.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    for page in all(workspace)? {
        let path = workspace.path(&page);
        let shown = block::filled(&workspace.text(&page)?, |file| workspace.text(file))
            .and_then(|filled| linked(workspace, &page, &filled))
            .with_context(|| format!("the code of {page}"))?;
        write_if_changed(&path, shown.as_bytes())?;
    }
    let site = build(workspace)?;
    println!("{}", site.join("index.html").display());
    Ok(())
}

/// Builds the site in `target/site`. Fails if a link is broken or a page is not in the navigation.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let entries = entries(&workspace.text(navigation::FILE)?);
    let folder = workspace.target.join("site");
    let sources = folder.join("pages");
    // Deleted pages must not be linked anymore.
    if sources.exists() {
        std::fs::remove_dir_all(&sources)?;
    }
    let mut pages = Vec::new();
    for page in all(workspace)?.iter().filter_map(|page| page.strip_prefix("docs/")) {
        if !entries.iter().any(|entry| entry.page == page) {
            bail!("docs/{page} stands nowhere in the navigation: name it in {}", navigation::FILE);
        }
        let path = format!("docs/{page}");
        let text = workspace.text(&path)?;
        let shown = markup::for_site(workspace, &path, &text).with_context(|| path.clone())?;
        write_if_changed(&sources.join(page), shown.as_bytes())?;
    }
    let (list, listed) = requirements::list_page(workspace)?;
    write_if_changed(&sources.join(list), listed.as_bytes())?;
    for entry in entries {
        let text = if entry.page == list { listed.clone() } else { workspace.text(format!("docs/{}", entry.page))? };
        pages.push((entry, text));
    }
    for (name, text) in llms::files(workspace, &pages)? {
        write_if_changed(&sources.join(name), text.as_bytes())?;
    }
    for image in files_under(&workspace.path(IMAGES))? {
        let name = image.strip_prefix(workspace.path("docs"))?;
        write_if_changed(&sources.join(name), &std::fs::read(&image)?)?;
    }
    write_if_changed(&sources.join("site.css"), workspace.text("docs/site.css")?.as_bytes())?;
    write_if_changed(&folder.join("zensical.toml"), workspace.text(navigation::FILE)?.as_bytes())?;
    install(workspace)?;

    let mut zensical = workspace.command(workspace.venv_program(VENV, "zensical"));
    zensical.args(["build", "--clean", "--strict"]).current_dir(&folder).env("NO_COLOR", "1");
    let output = run(zensical, BUILD_TIMEOUT)?;
    if !output.success() {
        // Its findings come before its own stack trace.
        let found = output.text.split("Traceback").next().unwrap_or_default();
        bail!("{}\nthe site is not built [{}]", tail(found, 60), output.ending());
    }
    Ok(folder.join("site"))
}

/// Installs the site generator.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    python::make_venv(workspace, VENV, Some(&workspace.path("docs/requirements.txt")))
}

/// The README and all pages of `docs/`, relative to the root of the tree.
pub(crate) fn all(workspace: &Workspace) -> Result<Vec<String>> {
    workspace.files(&["README.md", "docs/*.md"])
}
