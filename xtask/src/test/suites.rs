//! The test suites of the languages, and what runs across them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::build::python::VENV;
use crate::build::rust::{self, PACKAGES};
use crate::build::{c, system};
use crate::language::Language;
use crate::process::{Output, run};
use crate::stamp::files_under;
use crate::test::{Count, Selection, counts, examples};
use crate::workers;
use crate::workspace::Workspace;

const DEADLINE: Duration = Duration::from_secs(1200);
const LANGUAGES_AT_ONCE: usize = 2;
/// Tests in Rust mostly wait, so more than two processors could run.
const RUST_TESTS_AT_ONCE: &str = "4";
/// Options of valgrind.
const CHECKS: [&str; 2] = ["--leak-check=full", "--error-exitcode=9"];
/// In the folder of the C package.
const SUPPRESSIONS: &str = "packaging/valgrind.supp";

/// Everything in the members, where one test of bindings-c builds and runs the C programs; and then
/// xtask itself (see build/rust.rs why it is apart).
pub(crate) fn rust_and_c(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    system::redis_server()?;
    let mut members = rust::cargo(workspace);
    members.args(["test", "--no-fail-fast"]).args(PACKAGES);
    // They are built; alone, with other features, they would be built once more.
    members.env("TRUNKLINE_PREBUILT", "1");
    members.env("RUST_TEST_THREADS", RUST_TESTS_AT_ONCE);
    if !selection.languages.contains(&Language::Rust) {
        members.args(["--test", "c"]);
        return Ok(counts::of_cargo(&run(members, DEADLINE)?));
    }
    let mut own = rust::cargo(workspace);
    own.args(["test", "--package", "xtask"]);
    Ok(counts::of_cargo(&run(members, DEADLINE)?).and(counts::of_cargo(&run(own, DEADLINE)?)))
}

pub(crate) fn python(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(counts::of_pytest(&run(pytest(workspace, &workspace.venv_program(VENV, "python"))?, DEADLINE)?))
}

/// The command of the tests in Python, by its interpreter.
pub(crate) fn pytest(workspace: &Workspace, python: &Path) -> Result<Command> {
    system::redis_server()?;
    let mut pytest = workspace.command(python);
    pytest.current_dir(workspace.path("bindings-python")).args(["-m", "pytest", "-q", "--color=no"]);
    Ok(pytest)
}

pub(crate) fn node(workspace: &Workspace, _: &Selection) -> Result<Count> {
    Ok(counts::of_node(&run(node_test(workspace, Path::new("node"))?, DEADLINE)?))
}

/// The command of the tests in Node.js, by its interpreter. The files are named one by one: the
/// versions of Node read folder arguments differently.
pub(crate) fn node_test(workspace: &Workspace, node: &Path) -> Result<Command> {
    system::redis_server()?;
    let is_test = |name: &str| [".test.mjs", ".test.js", ".test.cjs"].iter().any(|ending| name.ends_with(ending));
    let files =
        files_under(&workspace.path("bindings-node/test"))?.into_iter().filter(|file| is_test(&file.to_string_lossy()));
    let mut node = workspace.command(node);
    node.current_dir(workspace.path("bindings-node")).args(["--test", "--test-reporter=tap"]).args(files);
    Ok(node)
}

/// The wire vectors, played to each fixture server and each fixture client (tests/vectors/runner).
pub(crate) fn vectors(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let reports = workspace.target.join("reports");
    std::fs::create_dir_all(&reports)?;
    let play = |language: &Language| {
        let play = |role: &str, option: &str, fixture: PathBuf| {
            let report = reports.join(format!("vectors-{}-{role}.json", language.name()));
            let _ = std::fs::remove_file(&report);
            let mut player = workspace.command(workspace.built("trunkline-vectors"));
            player.arg("--quiet").arg("--report").arg(&report).arg(option).arg(fixture);
            let output = run(player, DEADLINE)?;
            let name = format!("the {role} in {}", language.name());
            Ok::<_, anyhow::Error>(played(&name, &output, std::fs::read_to_string(&report).ok().as_deref()))
        };
        let server = play("server", "--fixture", language.server(workspace))?;
        Ok(server.and(play("client", "--client", language.client(workspace))?))
    };
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    let mut unstarted: Option<anyhow::Error> = None;
    workers::run(LANGUAGES_AT_ONCE, &selection.languages, play, |_, outcome| match outcome {
        Ok(one) => {
            count.passed += one.passed;
            count.failed += one.failed;
            count.said.push_str(&one.said);
        }
        Err(error) => unstarted = Some(error),
    });
    unstarted.map_or(Ok(count), Err)
}

/// The fixture clients, the examples of a login, and the hosts at a terminal, at a certified
/// authorization server that protects a server of ours.
pub(crate) fn authorization(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    authorize(workspace, selection, &[])
}

/// The same at Keycloak, whose habits are those of many companies' authorization servers.
pub(crate) fn authorization_at_keycloak(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let home = system::keycloak(workspace)?;
    authorize(workspace, selection, &["--keycloak".as_ref(), home.as_os_str()])
}

/// The same with a real browser that visits the pages of the login.
pub(crate) fn authorization_in_browser(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    authorize(workspace, selection, &["--browser".as_ref(), system::chromium()?.as_os_str()])
}

/// The queue and the places of replies under loom, which tries every order of their threads.
pub(crate) fn models_of_the_waist(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--package", "trunkline-bridge", "--features", "loom", "--lib", "models"]);
    Ok(counts::of_cargo(&run(cargo, DEADLINE)?))
}

/// The suite in C under valgrind, and a program with the shared and with the static library, with
/// the suppressions that are installed for users: nothing is lost, and nothing else is reported.
pub(crate) fn c_under_valgrind(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let source = examples::source(workspace, Language::C, "hello_client");
    let shared = examples::start(workspace, Language::C, &source)?;
    // The server that the program starts is beside it.
    let folder = shared.get_current_dir().context("a program in C runs in its folder")?;
    let fixed = folder.join("hello_client_static");
    c::link_statically(workspace, &source, &fixed)?;
    let valgrind = system::valgrind()?;
    let folder_of_suite = workspace.path("bindings-c");
    let mut count = Count { passed: 0, failed: 0, said: String::new(), note: String::new() };
    for program in [shared.get_program(), fixed.as_os_str()] {
        let mut checked = workspace.command(valgrind);
        checked.args(CHECKS).arg(format!("--suppressions={}", folder_of_suite.join(SUPPRESSIONS).display()));
        checked.arg(program).current_dir(folder);
        let output = run(checked, DEADLINE)?;
        count.passed += usize::from(output.success());
        count.failed += usize::from(!output.success());
        count.said.push_str(&format!("{}\n[{}]\n", output.text, output.ending()));
    }
    // The tests run in the folder of their package.
    let runner = format!("{valgrind} {} --suppressions={SUPPRESSIONS}", CHECKS.join(" "));
    Ok(count.and(counts::of_cargo(&run(c_scenarios(workspace, &runner), DEADLINE)?)))
}

/// The scenarios of the suite in C, each started by a runner: the words of a command.
pub(super) fn c_scenarios(workspace: &Workspace, runner: &str) -> Command {
    let mut suite = rust::cargo(workspace);
    suite.args(["test", "--no-fail-fast"]).args(PACKAGES).args(["--test", "c", "c99::"]);
    suite.env("TRUNKLINE_PREBUILT", "1").env("RUST_TEST_THREADS", RUST_TESTS_AT_ONCE);
    suite.env("TRUNKLINE_C_RUNNER", runner);
    suite
}

fn authorize(workspace: &Workspace, selection: &Selection, options: &[&OsStr]) -> Result<Count> {
    let mut node = workspace.command("node");
    node.arg(workspace.path("tests/peers/node/authorization.mjs")).args(options);
    node.args(selection.languages.iter().map(|language| language.client(workspace)));
    for language in &selection.languages {
        let program = match language {
            Language::Python => workspace.venv_program(VENV, "python"),
            Language::Node => "node".into(),
            Language::Rust | Language::C => continue,
        };
        node.arg("--example").arg(program).arg(examples::source(workspace, *language, "login"));
    }
    for language in &selection.languages {
        let host = examples::start(workspace, *language, &examples::source(workspace, *language, "agent_host"))?;
        node.arg("--host").arg(system::python()?).arg(workspace.path("tests/peers/python/at_terminal.py"));
        node.arg(host.get_program()).args(host.get_args());
    }
    Ok(of_lines(&run(node, DEADLINE)?))
}

/// The npm package as users get it: installed, judged, bundled, traced, and in other runtimes
/// (tests/npm).
pub(crate) fn npm(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut node = workspace.command("node");
    node.arg(workspace.path("tests/npm/try.mjs")).arg(workspace.target.join("npm"));
    node.arg(workspace.built_library("trunkline_node"));
    Ok(of_lines(&run(node, DEADLINE)?))
}

/// The sums of a program that writes a line for each trial: `ok` or `not ok`, and its name.
fn of_lines(output: &Output) -> Count {
    let lines = |word: &str| output.text.lines().filter(|line| line.starts_with(word)).count();
    let (passed, mut failed) = (lines("ok "), lines("not ok "));
    if failed == 0 && (!output.success() || passed == 0) {
        failed = 1;
    }
    let said = if failed == 0 { String::new() } else { format!("{}\n[{}]\n", output.text, output.ending()) };
    Count { passed, failed, said, note: String::new() }
}

/// The sums of a report of the player. A player that fails without one is a failure, and so is a
/// vector that it skips.
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
