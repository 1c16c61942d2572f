//! Builds C programs with the shared library that cargo built.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};

use crate::build::{BUILD_TIMEOUT, system};
use crate::process::must;
use crate::stamp::{Stamp, copy_if_changed, files_with, stem_of};
use crate::workers;
use crate::workspace::Workspace;

/// Where programs are built, together with the library that they load.
pub(crate) struct Workshop {
    /// The directory of the programs and of their copy of the library.
    pub(crate) programs: PathBuf,
    /// The directory where cargo put the library.
    pub(crate) library: PathBuf,
    pub(crate) optimise: bool,
}

/// A C program in the build directory.
pub(crate) fn program(workspace: &Workspace, name: &str) -> PathBuf {
    Workshop::of_tests(workspace, "").program(name)
}

pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let workshop = Workshop::of_tests(workspace, "");
    workshop.place_library(workspace)?;
    for role in ["server", "client"] {
        let source = workspace.path("tests/fixtures/c").join(format!("{role}.c"));
        workshop.compile(workspace, &format!("fixture-{role}"), &source)?;
    }
    Ok(())
}

/// Builds one more program next to the fixtures.
pub(crate) fn build_program(workspace: &Workspace, name: &str, source: &Path) -> Result<()> {
    let workshop = Workshop::of_tests(workspace, "");
    workshop.place_library(workspace)?;
    workshop.compile(workspace, name, source)
}

/// Links a program with the static library.
pub(crate) fn link_statically(workspace: &Workspace, source: &Path, output: &Path) -> Result<()> {
    let mut command = workspace.command(system::c_compiler()?.path());
    command.args(["-std=c99", "-g", "-I"]).arg(workspace.path("bindings-c/include")).arg(source);
    command.arg("-o").arg(output).arg(workspace.target.join("debug/libtrunkline.a"));
    command.args(["-lutil", "-lrt", "-lpthread", "-lm", "-ldl"]);
    must(command, BUILD_TIMEOUT).map(drop)
}

/// The name under which programs find the shared library: its SONAME, set by bindings-c/build.rs.
pub(crate) fn name_of_library() -> String {
    let version = env!("CARGO_PKG_VERSION");
    if cfg!(windows) {
        "trunkline.dll".to_owned()
    } else if cfg!(target_os = "macos") {
        format!("libtrunkline.{version}.dylib")
    } else {
        format!("libtrunkline.so.{version}")
    }
}

impl Workshop {
    /// A directory of programs in `target/c`.
    pub(crate) fn of_tests(workspace: &Workspace, place: &str) -> Self {
        let programs = workspace.target.join("c").join(place);
        Self { programs, library: workspace.target.join("debug"), optimise: false }
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Copies the library into the directory of the programs.
    pub(crate) fn place_library(&self, workspace: &Workspace) -> Result<()> {
        let library = self.library.join(workspace.library_file("trunkline"));
        copy_if_changed(&library, &self.programs.join(name_of_library()))
    }

    /// Compiles all programs in a directory, two at a time.
    pub(crate) fn compile_all(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        // The programs in a directory start each other, so this is called for each of them.
        static DONE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if done.contains(&self.programs) {
            return Ok(());
        }
        self.place_library(workspace)?;
        let mut sources = files_with(folder, "c")?;
        sources.retain(|file| file.parent() == Some(folder));
        let mut faults = Vec::new();
        let compile = |source: &PathBuf| self.compile(workspace, &stem_of(source), source);
        workers::run(2, &sources, compile, |_, result| {
            faults.extend(result.err().map(|error| format!("{error:#}")));
        });
        ensure!(faults.is_empty(), "{}", faults.join("\n"));
        done.insert(self.programs.clone());
        Ok(())
    }

    /// Compiles one program, unless it exists and neither its source nor the header has changed.
    /// Files `program_*` next to the source `program.c` are part of it.
    pub(crate) fn compile(&self, workspace: &Workspace, name: &str, source: &Path) -> Result<()> {
        let sources = with_parts(source)?;
        let output = self.program(name);
        let include = workspace.path("bindings-c/include");
        let compiler = system::c_compiler()?;
        let command = if compiler.is_like_msvc() {
            let mut command = compiler.to_command();
            self.msvc(&mut command, &sources, &include, &output);
            command
        } else {
            let mut command = workspace.command(compiler.path());
            self.gcc(&mut command, &sources, &include, &output);
            command.args(libraries_of(source)?);
            command
        };
        let place = self.programs.file_name().unwrap_or_default().to_string_lossy();
        Stamp::new(workspace, &format!("c-{place}-{name}"))
            .on(&crate::process::describe(&command))
            .on_files([include, source.with_extension("h")])?
            .on_files(sources)?
            .unless_done(&output, || must(command, BUILD_TIMEOUT).map(drop))
    }

    fn gcc(&self, command: &mut Command, sources: &[PathBuf], include: &Path, output: &Path) {
        command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_POSIX_C_SOURCE=200809L"]);
        command.arg(if self.optimise { "-O2" } else { "-g" });
        command.arg("-I").arg(include).args(sources).arg("-o").arg(output);
        command.arg("-L").arg(&self.library).arg("-ltrunkline");
        // The program looks for the library in its own directory, so that the tree can be moved.
        let origin = if cfg!(target_os = "macos") { "@loader_path" } else { "$ORIGIN" };
        command.arg(format!("-Wl,-rpath,{origin}"));
        command.args(if cfg!(windows) { &[][..] } else { &["-pthread", "-lm"] });
    }

    fn msvc(&self, command: &mut Command, sources: &[PathBuf], include: &Path, output: &Path) {
        command.args(["/nologo", "/utf-8", "/W4", "/WX", if self.optimise { "/O2" } else { "/Od" }]);
        command.arg("/I").arg(include).args(sources).arg(format!("/Fe:{}", output.display()));
        command.arg(format!("/Fo:{}\\", self.programs.display())).arg(self.library.join("trunkline.dll.lib"));
    }
}

/// The flags for additional libraries of a program, as named in its comment, such as `$(pkg-config
/// --cflags --libs trunkline glib-2.0)`.
fn libraries_of(source: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(source)?;
    let named = text.split_once("$(pkg-config --cflags --libs trunkline").and_then(|(_, rest)| rest.split_once(')'));
    let named = named.map_or("", |(named, _)| named);
    named.split_whitespace().map(system::library_flags).collect::<Result<Vec<_>>>().map(|flags| flags.concat())
}

fn with_parts(source: &Path) -> Result<Vec<PathBuf>> {
    let folder = source.parent().unwrap_or(Path::new(""));
    let prefix = format!("{}_", stem_of(source));
    let is_part = |file: &PathBuf| file.parent() == Some(folder) && stem_of(file).starts_with(&prefix);
    let parts = files_with(folder, "c")?.into_iter().filter(is_part);
    Ok(std::iter::once(source.to_owned()).chain(parts).collect())
}
