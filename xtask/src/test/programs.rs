//! Runs the programs in `docs/snippets`, which the pages show, and compares the languages, which
//! the test runner of a single language cannot do. `tools.txt` is the expected output of each of
//! `tools.py`, `tools.ts`, `tools.rs` and `tools.c`; a program without such a file is a server that
//! another one starts.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::language::{Language, Snippets};
use crate::process::{must, run};
use crate::stamp::{files_with, stem_of};
use crate::test::{Count, Selection};
use crate::workers;
use crate::workspace::Workspace;

pub(crate) const FOLDER: &str = "docs/snippets";
/// Files there that combine the programs of a language, and are none themselves.
pub(crate) const MANIFESTS: [&str; 2] = ["main.rs", "Package.swift"];

const RUN_TIMEOUT: Duration = Duration::from_secs(120);

/// A program: its name, and its output or an error.
type Outcome = (String, Result<String, String>);

pub(crate) fn run_all(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let mut count = Count::default();
    let mut done = Vec::new();
    // Languages whose programs are built one by one take longest.
    let languages: Vec<Language> = selection.languages.iter().rev().copied().collect();
    workers::run(
        2,
        &languages,
        |&language| outcomes(workspace, language),
        |index, outcome| done.push((index, outcome)),
    );
    for (index, outcomes) in done {
        let outcomes = outcomes.unwrap_or_else(|error| vec![("all".to_owned(), Err(format!("{error:#}")))]);
        for (stem, outcome) in outcomes {
            let expected = workspace.text(format!("{FOLDER}/{stem}.txt")).unwrap_or_default();
            let fault = match outcome {
                Ok(printed) if printed == expected => None,
                Ok(printed) => Some(format!("it printed:\n{printed}instead of:\n{expected}")),
                Err(fault) => Some(fault),
            };
            count.add(fault.map(|fault| format!("{stem} in {}: {fault}", languages[index].name)));
        }
    }
    Ok(count)
}

fn outcomes(workspace: &Workspace, language: Language) -> Result<Vec<Outcome>> {
    let stems = stems(workspace, language)?;
    match language.snippets {
        Snippets::Together(command) => {
            let mut command = command(workspace)?;
            command.args(&stems);
            in_one_process(command, stems)
        }
        Snippets::Alone(command) => {
            let source = |stem: &str| workspace.path(&format!("{FOLDER}/{stem}.{}", language.snippet_ending));
            let printed = |stem: String| Ok((stem.clone(), printed(command(workspace, &source(&stem))?)));
            stems.into_iter().map(printed).collect()
        }
    }
}

/// The programs of a language that print something.
fn stems(workspace: &Workspace, language: Language) -> Result<Vec<String>> {
    let mut stems = Vec::new();
    for file in files_with(&workspace.path(FOLDER), language.snippet_ending)? {
        let stem = stem_of(&file);
        let is_program = !MANIFESTS.iter().any(|name| file.ends_with(name));
        if file.with_extension("txt").exists() {
            stems.push(stem);
        } else if is_program && !stem.ends_with("_server") {
            bail!("{FOLDER}/{stem}.txt is missing: it has what the program prints");
        }
    }
    Ok(stems)
}

fn printed(command: Command) -> Result<String, String> {
    match run(command, RUN_TIMEOUT) {
        Ok(output) if output.success() => Ok(output.stdout),
        Ok(output) => Err(format!("{}\n[{}]", output.text, output.ending())),
        Err(error) => Err(format!("{error:#}")),
    }
}

/// An output line of the programs in `tests/snippets`, which run all snippets of a language.
#[derive(Deserialize)]
struct Line {
    name: String,
    printed: String,
    error: Option<String>,
}

fn in_one_process(command: Command, stems: Vec<String>) -> Result<Vec<Outcome>> {
    let output = must(command, RUN_TIMEOUT)?;
    let lines =
        output.stdout.lines().map(|line| serde_json::from_str(line).with_context(|| format!("the line {line:?}")));
    Ok(outcomes_of(stems, lines.collect::<Result<_>>()?))
}

/// A snippet that ends the process leaves those after it without lines.
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
