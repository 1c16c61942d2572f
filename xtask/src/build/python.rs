//! The Python package in its own virtual environment: the sources are on its path, next to the
//! extension that cargo built.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::build::{BUILD_TIMEOUT, installing, system};
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, write_if_changed};
use crate::workspace::Workspace;

const SOURCES: &str = "bindings-python/python";
/// The virtual environment for our package.
pub(crate) const VENV: &str = "trunkline";
/// The virtual environment with the pip that fills all others. A pip in each would take 5 s each.
const PIP: &str = "pip";
/// The path of the extension in the package, with a name that Python can import.
pub(crate) const EXTENSION: &str = if cfg!(windows) { "_internal/_native.pyd" } else { "_internal/_native.abi3.so" };

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let package = workspace.path(SOURCES);
    copy_if_changed(&workspace.built_library("_native"), &package.join("trunkline").join(EXTENSION))?;
    build_sources(workspace)
}

/// The package without its extension.
pub(crate) fn build_sources(workspace: &Workspace) -> Result<()> {
    make_venv(workspace, VENV, None)?;
    let paths = format!("{}\n", workspace.path(SOURCES).display());
    write_if_changed(&site_packages(workspace, VENV)?.join("trunkline.pth"), paths.as_bytes())
}

/// The linters and test tools of the Python package, pinned there.
pub(crate) fn install_tools(workspace: &Workspace) -> Result<()> {
    make_venv(workspace, VENV, Some(&workspace.path("bindings-python/requirements-dev.txt")))
}

/// Creates or reuses a virtual environment, and installs what the file lists.
pub(crate) fn make_venv(workspace: &Workspace, name: &str, requirements: Option<&Path>) -> Result<()> {
    let _alone = installing();
    let version = system::python_version(&system::python()?)?;
    create_venv(workspace, name, &["--without-pip"], &version)?;
    let Some(requirements) = requirements else {
        return Ok(());
    };
    let done = workspace.venv(name).join("installed");
    Stamp::new(workspace, &format!("venv-{name}-packages")).on(&version).on_files([requirements])?.unless_done(
        &done,
        || {
            create_venv(workspace, PIP, &[], &version)?;
            let mut pip = workspace.command(workspace.venv_program(PIP, "python"));
            pip.args(["-m", "pip", "--python"]).arg(workspace.venv_program(name, "python"));
            // Python compiles the modules that are imported, which are few of them.
            pip.args(["install", "--disable-pip-version-check", "--no-compile", "-r"]).arg(requirements);
            must(pip, BUILD_TIMEOUT)?;
            Ok(std::fs::write(&done, "")?)
        },
    )
}

fn create_venv(workspace: &Workspace, name: &str, options: &[&str], version: &str) -> Result<()> {
    let interpreter = workspace.venv_program(name, "python");
    Stamp::new(workspace, &format!("venv-{name}")).on(version).unless_done(&interpreter, || {
        let mut command = workspace.command(system::python()?);
        command.args(["-m", "venv", "--clear"]).args(options).arg(workspace.venv(name));
        must(command, BUILD_TIMEOUT).map(drop)
    })
}

pub(crate) fn site_packages(workspace: &Workspace, venv: &str) -> Result<PathBuf> {
    let mut python = workspace.command(workspace.venv_program(venv, "python"));
    python.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
    Ok(must(python, BUILD_TIMEOUT)?.stdout.trim().into())
}
