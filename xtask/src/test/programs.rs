//! Compiles and runs the programs of `docs/snippets`, which the pages show. `tools.txt` is what
//! `tools.py`, `tools.ts`, `tools.rs` and `tools.c` print, all the same; a program without such a
//! text is a server that another one starts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::build::c::Workshop;
use crate::build::python;
use crate::language::Language;
use crate::pages;
use crate::process::{must, run};
use crate::stamp::{Stamp, files_under, write_if_changed};
use crate::test::{Count, Selection};
use crate::workers;
use crate::workspace::Workspace;

pub(crate) const FOLDER: &str = "docs/snippets";
pub(crate) const ENDINGS: [&str; 4] = ["py", "ts", "rs", "c"];

const DEADLINE: Duration = Duration::from_secs(120);
/// The compiled TypeScript: beside the packages that it imports.
const COMPILED: &str = "node_modules/.snippets";
const COMPILED_EXAMPLES: &str = "node_modules/.examples";

/// A program of a language: its name, and what it printed or a fault.
type Outcome = (String, Result<String, String>);

pub(crate) fn run_all(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut done = Vec::new();
    workers::run(
        2,
        &selection.languages,
        |&language| (language, outcomes(workspace, language)),
        |_, outcome| done.push(outcome),
    );
    for (language, outcomes) in done {
        let outcomes = outcomes.unwrap_or_else(|error| vec![("all".to_owned(), Err(format!("{error:#}")))]);
        for (stem, outcome) in outcomes {
            let expected = pages::text(workspace, &format!("{FOLDER}/{stem}.txt")).unwrap_or_default();
            let fault = match outcome {
                Ok(printed) if printed == expected => None,
                Ok(printed) => Some(format!("it printed:\n{printed}instead of:\n{expected}")),
                Err(fault) => Some(fault),
            };
            count.passed += usize::from(fault.is_none());
            if let Some(fault) = fault {
                count.failed += 1;
                count.said.push_str(&format!("{stem} in {}: {fault}\n", language.name()));
            }
        }
    }
    Ok(count)
}

fn outcomes(workspace: &Workspace, language: Language) -> Result<Vec<Outcome>> {
    let sources = sources(workspace, ending(language))?;
    let stems: Vec<String> =
        sources.keys().filter(|stem| workspace.path(&format!("{FOLDER}/{stem}.txt")).exists()).cloned().collect();
    if let Some(stem) = sources.keys().find(|stem| !stems.contains(stem) && !stem.ends_with("_server")) {
        bail!("{FOLDER}/{stem}.txt is missing: it has what the program prints");
    }
    match language {
        Language::Rust => Ok(stems.into_iter().map(|stem| (stem.clone(), in_rust(workspace, &stem))).collect()),
        Language::C => in_c(workspace, &sources, stems),
        Language::Python => {
            let mut command = workspace.command(workspace.venv_program(python::VENV, "python"));
            command.arg(workspace.path("tests/snippets/run.py")).arg(workspace.path(FOLDER)).args(&stems);
            in_one_process(command, stems)
        }
        Language::Node => {
            let folder = compiled_typescript(workspace)?;
            let mut command = workspace.command("node");
            command.arg(workspace.path("tests/snippets/run.mjs")).arg(folder).args(&stems);
            in_one_process(command, stems)
        }
    }
}

/// The command that runs a program, such as a server that another one would start.
pub(crate) fn command(workspace: &Workspace, language: Language, stem: &str) -> Result<Command> {
    match language {
        Language::Rust => Ok(workspace.command(workspace.built(&format!("examples/{stem}")))),
        Language::Python => {
            let mut command = workspace.command(workspace.venv_program(python::VENV, "python"));
            command.arg(workspace.path(&format!("{FOLDER}/{stem}.py")));
            Ok(command)
        }
        Language::Node => {
            let mut command = workspace.command("node");
            command.arg(compiled_typescript(workspace)?.join(format!("{stem}.js")));
            Ok(command)
        }
        Language::C => {
            let workshop = workshop(workspace);
            workshop.place_library(workspace)?;
            workshop.compile(workspace, stem, &workspace.path(&format!("{FOLDER}/{stem}.c")))?;
            Ok(workspace.command(workshop.program(stem)))
        }
    }
}

fn workshop(workspace: &Workspace) -> Workshop {
    Workshop {
        programs: workspace.target.join("c").join("snippets"),
        library: workspace.target.join("debug"),
        optimise: false,
    }
}

fn ending(language: Language) -> &'static str {
    match language {
        Language::Rust => "rs",
        Language::Python => "py",
        Language::Node => "ts",
        Language::C => "c",
    }
}

/// The programs of one language by their names. `main.rs` makes one program of those in Rust.
fn sources(workspace: &Workspace, ending: &str) -> Result<BTreeMap<String, PathBuf>> {
    let files = files_under(&workspace.path(FOLDER))?.into_iter();
    let of_language = files.filter(|file| file.extension().is_some_and(|found| found == ending));
    let named = of_language.filter_map(|file| Some((file.file_stem()?.to_string_lossy().into_owned(), file)));
    Ok(named.filter(|(stem, _)| stem != "main").collect())
}

/// All of them are one program, which takes the name of a snippet.
fn in_rust(workspace: &Workspace, stem: &str) -> Result<String, String> {
    let mut command = workspace.command(workspace.built("examples/snippets"));
    command.arg(stem);
    printed(command)
}

fn printed(command: Command) -> Result<String, String> {
    match run(command, DEADLINE) {
        Ok(output) if output.success() => Ok(output.stdout),
        Ok(output) => Err(format!("{}\n[{}]", output.text, output.ending())),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn in_c(workspace: &Workspace, sources: &BTreeMap<String, PathBuf>, stems: Vec<String>) -> Result<Vec<Outcome>> {
    let workshop = workshop(workspace);
    workshop.place_library(workspace)?;
    let jobs: Vec<_> = sources.iter().collect();
    let mut faults = BTreeMap::new();
    workers::run(
        2,
        &jobs,
        |(stem, source)| workshop.compile(workspace, stem, source).map_err(|error| format!("{error:#}")),
        |index, result| {
            if let Err(fault) = result {
                faults.insert(jobs[index].0.clone(), fault);
            }
        },
    );
    let run = |stem: String| {
        let outcome = faults.get(&stem).cloned().map_or_else(
            || {
                let mut command = workspace.command(workshop.program(&stem));
                command.current_dir(&workshop.programs);
                printed(command)
            },
            Err,
        );
        (stem, outcome)
    };
    let of_servers = faults.iter().filter(|(stem, _)| !stems.contains(*stem));
    let broken: Vec<Outcome> = of_servers.map(|(stem, fault)| (stem.clone(), Err(fault.clone()))).collect();
    Ok(stems.into_iter().map(run).chain(broken).collect())
}

/// All TypeScript of the pages in one run of its compiler.
fn compiled_typescript(workspace: &Workspace) -> Result<PathBuf> {
    compiled(workspace, FOLDER, COMPILED, "snippets-typescript")
}

/// All TypeScript of the examples.
pub(crate) fn compiled_examples(workspace: &Workspace) -> Result<PathBuf> {
    compiled(workspace, "examples/node", COMPILED_EXAMPLES, "examples-typescript")
}

fn compiled(workspace: &Workspace, sources: &str, place: &str, name: &str) -> Result<PathBuf> {
    let folder = workspace.path(place);
    let mut stamp = Stamp::new(workspace, name)
        .on_files(&workspace.path("bindings-node/dist"))?
        .on_files(&workspace.path("bindings-node/package-lock.json"))?
        .on_files(&workspace.path(&format!("{FOLDER}/tsconfig.json")))?
        .on_files(&workspace.path(&format!("{sources}/tsconfig.json")))?;
    let files = files_under(&workspace.path(sources))?;
    for source in files.iter().filter(|file| file.extension().is_some_and(|found| found == "ts")) {
        stamp = stamp.on_files(source)?;
    }
    stamp.unless_done(&folder, || {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        write_if_changed(&folder.join("package.json"), b"{\"type\": \"module\"}\n")?;
        let mut tsc = workspace.command("node");
        tsc.arg("bindings-node/node_modules/typescript/bin/tsc")
            .args(["--project", &format!("{sources}/tsconfig.json"), "--outDir"])
            .arg(&folder);
        must(tsc, DEADLINE).map(drop)
    })?;
    Ok(folder)
}

/// A line of the programs in `tests/snippets`, which run all snippets of a language.
#[derive(Deserialize)]
struct Line {
    name: String,
    printed: String,
    error: Option<String>,
}

fn in_one_process(command: Command, stems: Vec<String>) -> Result<Vec<Outcome>> {
    let output = must(command, DEADLINE)?;
    let lines =
        output.stdout.lines().map(|line| serde_json::from_str(line).with_context(|| format!("the line {line:?}")));
    Ok(outcomes_of(stems, lines.collect::<Result<_>>()?))
}

/// A program that ends the process takes the lines of those after it along.
fn outcomes_of(stems: Vec<String>, lines: Vec<Line>) -> Vec<Outcome> {
    let mut lines: BTreeMap<_, _> = lines.into_iter().map(|line| (line.name, (line.printed, line.error))).collect();
    let outcome = |stem: String| {
        let outcome = match lines.remove(&stem) {
            Some((printed, None)) => Ok(printed),
            Some((printed, Some(error))) => Err(format!("{printed}{error}")),
            None => Err("it was not run: the process had ended".to_owned()),
        };
        (stem, outcome)
    };
    stems.into_iter().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_line_has_failed() {
        let line = |name: &str, error: Option<&str>| Line {
            name: name.to_owned(),
            printed: "hello\n".to_owned(),
            error: error.map(str::to_owned),
        };
        let stems = ["a", "b", "c"].map(str::to_owned).to_vec();
        let found = outcomes_of(stems, vec![line("a", None), line("b", Some("oops"))]);
        assert_eq!(found[0], ("a".to_owned(), Ok("hello\n".to_owned())));
        assert_eq!(found[1], ("b".to_owned(), Err("hello\noops".to_owned())));
        assert!(found[2].1.is_err());
    }
}
