//! `cargo xtask go-modules`: the Go modules of a release. A module per platform embeds the library,
//! and the main module requires all of them, so that `go get` is all that a user needs. In the
//! repository, the package has no library and loads one from a file.

mod platform;
mod release;
mod sums;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;
use platform::{PLATFORMS, Platform};
use release::tag;
use sums::Files;
pub(crate) use trial::check;

/// The path of the main module, which is also its folder.
const MODULE: &str = "github.com/trunkline-mcp/trunkline/bindings-go";
const FOLDER: &str = "bindings-go";
/// Not `LICENSE`, which only names these two: pkg.go.dev would take it for an unknown license and
/// hide the documentation.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// The license texts of the crates in the libraries: beside the libraries of a release.
const NOTICES: &str = "LICENSE-THIRD-PARTY";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// LIBRARIES has a folder per platform.
pub(crate) fn run(workspace: &Workspace, libraries: &str, is_tagged: bool) -> Result<bool> {
    let target = workspace.target.join("go-modules");
    let all: Vec<_> = PLATFORMS.iter().collect();
    for line in write(workspace, Path::new(libraries), &all, &target)? {
        println!("{line}");
    }
    if is_tagged {
        tag(&workspace.root, &target)?.iter().for_each(|tag| println!("{tag}"));
    }
    Ok(true)
}

/// Writes the modules for some platforms into a folder, which it replaces. Returns a line for each
/// library.
fn write(workspace: &Workspace, libraries: &Path, platforms: &[&Platform], target: &Path) -> Result<Vec<String>> {
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    let licenses = files_of(&workspace.root, LICENSES.map(str::to_owned))?;
    let tracked = workspace.files(&[FOLDER])?;
    let inside = tracked.iter().filter_map(|path| path.strip_prefix(FOLDER)?.strip_prefix('/'));
    let mut main = files_of(&workspace.path(FOLDER), inside.map(str::to_owned))?;
    main.extend(licenses.clone());
    let (mut required, mut sums, mut lines) = (String::new(), String::new(), Vec::new());
    for platform in platforms {
        let source = libraries.join(platform.name).join(platform.file);
        let library = fs::read(&source).with_context(|| format!("the library for {}: {source:?}", platform.name))?;
        platform.check(&library, VERSION).with_context(|| source.display().to_string())?;
        lines.push(format!("{:<14} {:>6.1} MB", platform.name, library.len() as f64 / 1e6));
        let module = format!("{MODULE}/library/{}", platform.name);
        let mut files = licenses.clone();
        if libraries.join(NOTICES).exists() {
            files.extend(files_of(libraries, [NOTICES.to_owned()])?);
        }
        files.insert(platform.file.to_owned(), library);
        files.insert("go.mod".to_owned(), declaration(&module, &main)?.into_bytes());
        files.insert("library.go".to_owned(), package(platform).into_bytes());
        required += &format!("\t{module} v{VERSION}\n");
        sums += &sums::lines(&module, VERSION, &files);
        main.insert(format!("library_{}.go", platform.name), import(&module).into_bytes());
        write_files(&target.join(FOLDER).join("library").join(platform.name), &files)?;
    }
    append(&mut main, "go.mod", &format!("\nrequire (\n{required})\n"))?;
    append(&mut main, "go.sum", &sums)?;
    write_files(&target.join(FOLDER), &main)?;
    Ok(lines)
}

fn files_of(folder: &Path, paths: impl IntoIterator<Item = String>) -> Result<Files> {
    let read = |path: String| {
        let from = folder.join(&path);
        let content = fs::read(&from).with_context(|| from.display().to_string())?;
        Ok((path, content))
    };
    paths.into_iter().map(read).collect()
}

fn write_files(folder: &Path, files: &Files) -> Result<()> {
    for (path, content) in files {
        let to: PathBuf = folder.join(path);
        fs::create_dir_all(to.parent().unwrap_or(folder))?;
        fs::write(to, content)?;
    }
    Ok(())
}

fn append(files: &mut Files, path: &str, text: &str) -> Result<()> {
    let content = files.get_mut(path).with_context(|| format!("{FOLDER} has no {path}"))?;
    content.extend_from_slice(text.as_bytes());
    Ok(())
}

/// The `go.mod` of a library's module, for the same version of Go as the main module.
fn declaration(module: &str, main: &Files) -> Result<String> {
    let text = String::from_utf8(main.get("go.mod").cloned().unwrap_or_default())?;
    let go = text.lines().find(|line| line.starts_with("go "));
    let go = go.with_context(|| format!("{FOLDER}/go.mod names no version of Go"))?;
    ensure!(text.starts_with(&format!("module {MODULE}\n")), "{FOLDER}/go.mod is not that of {MODULE}");
    Ok(format!("module {module}\n\n{go}\n"))
}

fn package(platform: &Platform) -> String {
    let Platform { name, file, .. } = platform;
    format!(
        "// Package platform has libtrunkline {VERSION} for {name}. The package trunkline imports it.\n\
         package platform\n\nimport _ \"embed\"\n\n\
         // File is the library.\n//\n//go:embed {file}\nvar File string\n"
    )
}

/// A file of the main module, which Go only compiles for the platform in its name.
fn import(module: &str) -> String {
    format!(
        "//go:build !trunkline_external\n\npackage trunkline\n\nimport platform \"{module}\"\n\n\
         func init() {{ embedded = platform.File }}\n"
    )
}
