//! `wire-check [--report FILE] [--tolerate FILE] FILE-OR-FOLDER...`: checks the messages recorded
//! by tests.
//!
//! Exit code 0 if messages were checked and all are valid, 1 if not, 2 on errors.

#![forbid(unsafe_code)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use trunkline_wire::Checker;
use trunkline_wire::tally::Tally;
use trunkline_wire::tolerance::Tolerance;

const USAGE: &str = "usage: wire-check [--report FILE] [--tolerate FILE] FILE-OR-FOLDER...
Checks recorded messages (JSON lines; in a folder, all files named *.jsonl) against the closed world of their revision.
  --report FILE     write the counts and violations there, as JSON
  --tolerate FILE   only count the violations in received messages that are listed there, as in tests/wire/tolerated.json";

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os().skip(1).map(PathBuf::from)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("wire-check: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("wire-check: {error}");
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Arguments {
    report: Option<PathBuf>,
    tolerate: Option<PathBuf>,
    inputs: Vec<PathBuf>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = PathBuf>) -> Result<Self, String> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            if word == Path::new("--report") {
                arguments.report = Some(words.next().ok_or("--report needs a file name")?);
            } else if word == Path::new("--tolerate") {
                arguments.tolerate = Some(words.next().ok_or("--tolerate needs a file name")?);
            } else if word.to_string_lossy().starts_with('-') {
                return Err(format!("unknown option {}", word.display()));
            } else {
                arguments.inputs.push(word);
            }
        }
        if arguments.inputs.is_empty() {
            return Err("nothing to check".into());
        }
        Ok(arguments)
    }
}

fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let checker = Checker::new()?;
    let tolerated = arguments.tolerate.as_deref().map(known).transpose()?.unwrap_or_default();
    let tally = Tally::of(&arguments.inputs, &checker, tolerated)?;
    println!("{tally}");
    if tally.checked == 0 {
        println!("No message was checked: nothing is proved.");
    }
    let passed = tally.passed();
    if let Some(report) = &arguments.report {
        write(report, &tally, passed).map_err(|error| format!("cannot write {}: {error}", report.display()))?;
    }
    Ok(passed)
}

fn known(file: &Path) -> Result<Vec<Tolerance>, Box<dyn Error>> {
    let named = |error: &dyn Error| format!("cannot read {}: {error}", file.display());
    let text = std::fs::read(file).map_err(|error| named(&error))?;
    Ok(serde_json::from_slice(&text).map_err(|error| named(&error))?)
}

fn write(report: &Path, tally: &Tally, passed: bool) -> std::io::Result<()> {
    if let Some(folder) = report.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut content = serde_json::json!(tally);
    content["passed"] = passed.into();
    std::fs::write(report, format!("{content:#}\n"))
}
