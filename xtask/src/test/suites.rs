//! The test suites of the languages, and what runs across them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::build::python::VENV;
use crate::build::rust::PACKAGES;
use crate::console::Console;
use crate::house::House;
use crate::language::Language;
use crate::matrix;
use crate::peers as meetings;
use crate::process::{Output, run};
use crate::stamp::files_under;
use crate::test::{Choice, Count, counts};
use crate::workers;

const DEADLINE: Duration = Duration::from_secs(1200);
const LANGUAGES_AT_ONCE: usize = 2;

/// Everything in the workspace, where one test of bindings-c builds and runs the C programs; and then xtask itself (see build/rust.rs why
/// it is apart).
pub(crate) fn rust_and_c(house: &House, choice: &Choice) -> Result<Count> {
    let mut workspace = house.cargo();
    workspace.args(["test", "--no-fail-fast"]).args(PACKAGES);
    if !choice.languages.contains(&Language::Rust) {
        workspace.args(["--test", "c"]);
        return Ok(counts::of_cargo(&run(workspace, DEADLINE)?));
    }
    let mut own = house.cargo();
    own.args(["test", "--package", "xtask"]);
    Ok(counts::of_cargo(&run(workspace, DEADLINE)?).and(counts::of_cargo(&run(own, DEADLINE)?)))
}

pub(crate) fn python(house: &House, _: &Choice) -> Result<Count> {
    let mut pytest = house.command(house.venv_program(VENV, "python"));
    pytest.current_dir(house.path("bindings-python")).args(["-m", "pytest", "-q", "--color=no"]);
    Ok(counts::of_pytest(&run(pytest, DEADLINE)?))
}

/// The files are named one by one: the versions of Node read folder arguments differently.
pub(crate) fn node(house: &House, _: &Choice) -> Result<Count> {
    let is_test = |name: &str| [".test.mjs", ".test.js", ".test.cjs"].iter().any(|ending| name.ends_with(ending));
    let files =
        files_under(&house.path("bindings-node/test"))?.into_iter().filter(|file| is_test(&file.to_string_lossy()));
    let mut node = house.command("node");
    node.current_dir(house.path("bindings-node")).args(["--test", "--test-reporter=tap"]).args(files);
    Ok(counts::of_node(&run(node, DEADLINE)?))
}

/// The wire vectors, played to each fixture server and each fixture client (tests/vectors/runner).
pub(crate) fn vectors(house: &House, choice: &Choice) -> Result<Count> {
    let reports = house.target.join("reports");
    std::fs::create_dir_all(&reports)?;
    let play = |language: &Language| {
        let play = |role: &str, option: &str, fixture: PathBuf| {
            let report = reports.join(format!("vectors-{}-{role}.json", language.name()));
            let _ = std::fs::remove_file(&report);
            let mut player = house.command(house.built("trunkline-vectors"));
            player.arg("--quiet").arg("--report").arg(&report).arg(option).arg(fixture);
            let output = run(player, DEADLINE)?;
            let name = format!("the {role} in {}", language.name());
            Ok::<_, anyhow::Error>(played(&name, &output, std::fs::read_to_string(&report).ok().as_deref()))
        };
        let server = play("server", "--fixture", language.server(house))?;
        Ok(server.and(play("client", "--client", language.client(house))?))
    };
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut unstarted: Option<anyhow::Error> = None;
    workers::run(LANGUAGES_AT_ONCE, &choice.languages, play, |_, outcome| match outcome {
        Ok(one) => {
            count.passed += one.passed;
            count.failed += one.failed;
            count.said.push_str(&one.said);
        }
        Err(error) => unstarted = Some(error),
    });
    unstarted.map_or(Ok(count), Err)
}

/// The sums of a report of the player. A player that fails without one is a failure, and so is a vector that it skips.
fn played(name: &str, output: &Output, report: Option<&str>) -> Count {
    let report: Value = report.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let number = |name: &str| report[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let (passed, mut failed) = (number("held"), number("failed") + number("skipped"));
    if failed == 0 && (!output.success() || passed == 0) {
        failed = 1;
    }
    let said = match failed {
        0 => String::new(),
        _ => format!("{name}:\n{}\n[{}]\n", output.text, output.ending()),
    };
    Count { passed, failed, said, note: String::new() }
}

pub(crate) fn matrix(house: &House, choice: &Choice) -> Result<Count> {
    let console = Console::new();
    let pairs = matrix::pairs(&choice.languages);
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut done = 0;
    let stopped = matrix::run(house, &pairs, |index, cells| {
        let pair = &pairs[index];
        done += 1;
        console.progress(&format!("matrix: {done} of {} pairs", pairs.len()));
        for cell in cells {
            match cell.outcome {
                Ok(_) => count.passed += 1,
                Err(error) => {
                    count.failed += 1;
                    let (client, server, transport) = (pair.client.name(), pair.server.name(), pair.transport.name());
                    count
                        .said
                        .push_str(&format!("{client} calls {server} over {transport}, {}: {error}\n", cell.revision));
                }
            }
        }
    });
    match stopped {
        Ok(()) => count.passed += 1,
        Err(stubborn) => {
            count.failed += 1;
            count.said.push_str(&stubborn);
        }
    }
    Ok(count)
}

pub(crate) fn peers(house: &House, choice: &Choice) -> Result<Count> {
    let console = Console::new();
    let tally = meetings::meet(house, &choice.languages, |name| console.progress(&format!("peers: {name}")))?;
    Ok(Count {
        passed: tally.passed,
        failed: tally.failures.len(),
        said: tally.failures.join("\n"),
        note: String::new(),
    })
}
