//! Runs the client programs of `examples/`, those of the README too. Each starts its server itself
//! and checks nothing: that it ends well, and has printed something, is the test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::build::c::Workshop;
use crate::build::rust::{self, PACKAGES};
use crate::build::{DEADLINE, python, system};
use crate::language::Language;
use crate::process::{must, run};
use crate::stamp::{files_under, write_if_changed};
use crate::test::{Count, Selection, programs};
use crate::workspace::Workspace;

const RUN: Duration = Duration::from_secs(60);

pub(crate) fn run_all(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let sources = files_under(&workspace.path("examples"))?;
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    for source in sources {
        let is_client = source.file_stem().is_some_and(|stem| stem.to_string_lossy().contains("client"));
        let Some(language) = language(&source).filter(|language| is_client && selection.languages.contains(language))
        else {
            continue;
        };
        if !is_for_this_system(&source) {
            continue;
        }
        if let Err(missing) = foreign_program(&source)
            && std::env::var_os("CI").is_none()
        {
            let name = source.file_name().unwrap_or_default().to_string_lossy();
            count.note = format!("{}{name} left out: {missing:#}; ", count.note);
            continue;
        }
        let said = match start(workspace, language, &source).and_then(|command| run(command, RUN)) {
            Ok(output) if output.success() && !output.stdout.trim().is_empty() => {
                count.passed += 1;
                continue;
            }
            Ok(output) => format!("{}\n[{}]", output.text, output.ending()),
            Err(error) => format!("{error:#}"),
        };
        count.failed += 1;
        count.said.push_str(&format!("{}: {said}\n", source.display()));
    }
    if count.passed + count.failed == 0 {
        count.failed = 1;
        count.said = "there is no client program in examples/".to_owned();
    }
    Ok(count)
}

/// The example of that name.
pub(crate) fn source(workspace: &Workspace, language: Language, name: &str) -> PathBuf {
    let ending = match language {
        Language::Rust => "rs",
        Language::Python => "py",
        Language::Node => "mjs",
        Language::C => "c",
    };
    workspace.path(&format!("examples/{}/{name}.{ending}", language.name()))
}

fn language(source: &Path) -> Option<Language> {
    match source.extension()?.to_str()? {
        "rs" => Some(Language::Rust),
        "py" => Some(Language::Python),
        "mjs" | "js" | "cjs" | "ts" => Some(Language::Node),
        "c" | "lua" | "go" => Some(Language::C),
        _ => None,
    }
}

/// Builds the examples in Rust, before any step that may run beside others: cargo would make it
/// wait for them.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    let mut cargo = rust::cargo(workspace);
    cargo.args(["build", "--examples"]).args(PACKAGES);
    must(cargo, DEADLINE).map(drop)
}

/// The command that runs a program as its reader would: in its folder, with `python`, `node` and
/// the programs beside it at hand.
pub(crate) fn start(workspace: &Workspace, language: Language, source: &Path) -> Result<Command> {
    let folder = source.parent().context("a file has a folder")?;
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let mut command = match language {
        Language::Rust => {
            return Ok(workspace.command(workspace.built(&format!("examples/{stem}"))));
        }
        Language::C if foreign_program(source)?.is_some() => return start_foreign(workspace, source),
        Language::C => {
            let place = source
                .strip_prefix(&workspace.root)?
                .parent()
                .unwrap_or(Path::new(""))
                .to_string_lossy()
                .replace(['/', '\\'], "-");
            let workshop = Workshop {
                programs: workspace.target.join("c").join(&place),
                library: workspace.target.join("debug"),
                optimise: false,
            };
            workshop.place_library(workspace)?;
            let beside = |file: &&PathBuf| file.parent() == Some(folder) && language_is_c(file);
            for file in files_under(folder)?.iter().filter(beside) {
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                workshop.compile(workspace, &name, file)?;
            }
            let mut command = workspace.command(workshop.program(&stem));
            command.current_dir(&workshop.programs);
            return Ok(command);
        }
        Language::Python => {
            let interpreter = workspace.venv_program(python::VENV, "python");
            let mut command = workspace.command(&interpreter);
            let first = interpreter.parent().map(Path::to_path_buf);
            let rest = std::env::var_os("PATH").unwrap_or_default();
            command.env("PATH", std::env::join_paths(first.into_iter().chain(std::env::split_paths(&rest)))?);
            command
        }
        Language::Node if source.extension().is_some_and(|ending| ending == "ts") => {
            let compiled = programs::compiled_examples(workspace)?;
            let mut command = workspace.command("node");
            command.arg(compiled.join(format!("{stem}.js"))).current_dir(compiled);
            return Ok(command);
        }
        Language::Node => workspace.command("node"),
    };
    command.arg(source).current_dir(folder);
    Ok(command)
}

fn language_is_c(file: &Path) -> bool {
    language(file) == Some(Language::C)
}

/// The program that runs a client in another language, over the C library.
fn foreign_program(source: &Path) -> Result<Option<&'static str>> {
    match source.extension().and_then(|ending| ending.to_str()) {
        Some("lua") => system::luajit().map(Some),
        Some("go") => system::go().map(Some),
        _ => Ok(None),
    }
}

/// Such a client finds the library by pkg-config, as if it was installed.
fn start_foreign(workspace: &Workspace, source: &Path) -> Result<Command> {
    let workshop = Workshop {
        programs: workspace.target.join("c").join("foreign"),
        library: workspace.target.join("debug"),
        optimise: false,
    };
    workshop.place_library(workspace)?;
    let (include, library) = (workspace.path("bindings-c/include"), &workshop.library);
    let package = format!(
        "includedir={}\nlibdir={}\nName: trunkline\nDescription: the library of this tree\nVersion: {}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltrunkline\n",
        include.display(),
        library.display(),
        env!("CARGO_PKG_VERSION")
    );
    write_if_changed(&workshop.programs.join("trunkline.pc"), package.as_bytes())?;
    let folder = source.parent().context("a file has a folder")?;
    let program = foreign_program(source)?.context("the language is known")?;
    let prepared = |mut command: Command| {
        command.current_dir(folder).env("PKG_CONFIG_PATH", &workshop.programs);
        command.env("LD_LIBRARY_PATH", &workshop.programs);
        command
    };
    if source.extension().is_some_and(|ending| ending == "lua") {
        let mut command = prepared(workspace.command(program));
        command.arg(source);
        return Ok(command);
    }
    let built = workshop.program("hello-in-go");
    let mut compiler = prepared(workspace.command(program));
    compiler.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").args(["build", "-o"]).arg(&built).arg(".");
    must(compiler, DEADLINE)?;
    Ok(prepared(workspace.command(built)))
}

/// Returns whether an example can be built here: the event loops are libraries of Linux systems,
/// and programs in other languages find the library as those systems do.
fn is_for_this_system(source: &Path) -> bool {
    let is_of_linux = ["loops/loops_client.c", "luajit/hello_client.lua", "go/hello_client.go"];
    cfg!(target_os = "linux") || !is_of_linux.iter().any(|name| source.ends_with(name))
}
