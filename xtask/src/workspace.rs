//! The layout of the source tree, and how commands are started in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::process::must;

#[derive(Clone)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target directory. All build output is there, or in a git-ignored `node_modules`.
    pub(crate) target: PathBuf,
    /// Where our processes record messages, if enabled.
    pub(crate) records: Option<PathBuf>,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the source tree")?.to_path_buf();
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
        Ok(Self { root, target, records: None })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The contents of a file, with Unix line endings. Paths are relative to the root of the tree.
    pub(crate) fn text(&self, file: impl AsRef<Path>) -> Result<String> {
        let file = self.root.join(file);
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(text.replace("\r\n", "\n"))
    }

    /// The value in a file of JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, file: impl AsRef<Path>) -> Result<T> {
        let name = file.as_ref().display().to_string();
        serde_json::from_str(&self.text(file)?).context(name)
    }

    /// The path of a report, whose directory exists.
    pub(crate) fn report(&self, name: &str) -> Result<PathBuf> {
        let folder = self.target.join("reports");
        std::fs::create_dir_all(&folder)?;
        Ok(folder.join(name))
    }

    /// A program built by `cargo build`.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The shared library that `cargo build` built for the crate `name`.
    pub(crate) fn built_library(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(self.library_file(name))
    }

    /// The file name that cargo gives a shared library.
    pub(crate) fn library_file(&self, name: &str) -> String {
        format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
    }

    pub(crate) fn venv(&self, name: &str) -> PathBuf {
        self.target.join("venvs").join(name)
    }

    /// A program in a virtual environment.
    pub(crate) fn venv_program(&self, venv: &str, program: &str) -> PathBuf {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        self.venv(venv).join(folder).join(format!("{program}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The files of the repository that match one of the patterns, including untracked ones; all
    /// files without patterns.
    pub(crate) fn files(&self, patterns: &[&str]) -> Result<Vec<String>> {
        let mut git = self.command("git");
        git.args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]).args(patterns);
        let listed = must(git, Duration::from_secs(60))?.stdout;
        Ok(listed.lines().filter(|file| self.path(file).exists()).map(str::to_owned).collect())
    }

    /// The same, without records of messages.
    pub(crate) fn unrecorded(&self) -> Self {
        Self { records: None, ..self.clone() }
    }

    /// A command that runs in the root of the tree.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        // Hundreds of interpreters are started, and each of them would compile our package again.
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        if let Some(records) = &self.records {
            command.env("TRUNKLINE_WIRE_LOG", records);
        }
        command
    }

    pub(crate) fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// A command that finds the programs of a directory first.
    pub(crate) fn command_with(&self, folder: &Path, program: impl AsRef<OsStr>) -> Result<Command> {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&rest));
        let mut command = self.command(program);
        command.env("PATH", std::env::join_paths(places)?);
        Ok(command)
    }

    pub(crate) fn npm(&self, package: &str) -> Command {
        let mut command = self.command(if cfg!(windows) { "npm.cmd" } else { "npm" });
        command.current_dir(self.path(package));
        command
    }
}
