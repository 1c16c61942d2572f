//! The Python package, in a virtual environment of its own: the sources are on its path, with the extension that cargo built beside them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::build::{DEADLINE, system};
use crate::house::House;
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, write_if_changed};

/// The virtual environment with our package.
pub(crate) const VENV: &str = "trunkline";
/// The file name under which Python finds the extension.
pub(crate) const EXTENSION: &str = if cfg!(windows) { "_native.pyd" } else { "_native.abi3.so" };

pub(crate) fn build(house: &House) -> Result<()> {
    let package = house.path("bindings-python/python");
    copy_if_changed(&house.built_library("_native"), &package.join("trunkline").join(EXTENSION))?;
    make_venv(house, VENV, None)?;
    let paths = format!("{}\n", package.display());
    write_if_changed(&site_packages(house, VENV)?.join("trunkline.pth"), paths.as_bytes())
}

/// The linters and test tools of the Python package, pinned there.
pub(crate) fn install_tools(house: &House) -> Result<()> {
    make_venv(house, VENV, Some(&house.path("bindings-python/requirements-dev.txt")))
}

/// Makes a virtual environment, or keeps it; installs what the file lists.
pub(crate) fn make_venv(house: &House, name: &str, requirements: Option<&Path>) -> Result<()> {
    let python = system::python()?;
    let version = system::python_version(&python)?;
    let interpreter = house.venv_program(name, "python");
    Stamp::new(house, &format!("venv-{name}")).on(&version).unless_done(&interpreter, || {
        let mut command = house.command(&python);
        command.args(["-m", "venv", "--clear"]).arg(house.venv(name));
        must(command, DEADLINE).map(drop)
    })?;
    let Some(requirements) = requirements else {
        return Ok(());
    };
    let done = house.venv(name).join("installed");
    Stamp::new(house, &format!("venv-{name}-packages")).on(&version).on_files(requirements)?.unless_done(&done, || {
        let mut pip = house.command(&interpreter);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(requirements);
        must(pip, DEADLINE)?;
        Ok(std::fs::write(&done, "")?)
    })
}

pub(crate) fn site_packages(house: &House, venv: &str) -> Result<PathBuf> {
    let mut python = house.command(house.venv_program(venv, "python"));
    python.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
    Ok(must(python, DEADLINE)?.stdout.trim().into())
}
