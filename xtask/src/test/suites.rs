//! Suites that run across languages, and those that a language only runs with `--long`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::build::{node, python, system};
use crate::language::Language;
use crate::length::Length;
use crate::process::{Output, run};
use crate::test::results::of_cargo;
use crate::test::{Count, Selection};
use crate::workers;
use crate::workspace::Workspace;

/// On a slow machine, the tests in Rust and C take 20 minutes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2700);
const JOBS_AT_ONCE: usize = 2;
/// Number of commits in a row that play all vectors over stdio, in languages that play a share.
const STDIO_SHARES: usize = 8;

/// The file for the results of a suite, in JUnit format.
pub(crate) fn junit(workspace: &Workspace, suite: &str) -> Result<PathBuf> {
    let report = workspace.report(&format!("{suite}-tests.xml"))?;
    // Results of an earlier run must not count.
    let _ = std::fs::remove_file(&report);
    Ok(report)
}

/// The wire vectors, played against each fixture server and client (tests/vectors/runner). Servers
/// take longest, and of these those on the JVM, so they come first.
pub(crate) fn vectors(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let languages = &selection.languages;
    let each = |role| languages.iter().rev().map(move |language| (*language, role));
    let jobs: Vec<(Language, &str)> = each("server").chain(each("client")).collect();
    let mut counts = Vec::new();
    let play = |&(language, role): &_| vectors_of(workspace, language, role, selection);
    workers::run(JOBS_AT_ONCE, &jobs, play, |_, one: Result<Count>| counts.push(one));
    counts.into_iter().try_fold(Count::default(), |sum, one| Ok(sum.and(one?)))
}

/// Plays the vectors of a selection to a fixture.
fn vectors_of(workspace: &Workspace, language: Language, role: &str, selection: &Selection) -> Result<Count> {
    let report = workspace.report(&format!("vectors-{}-{role}.json", language.name))?;
    let _ = std::fs::remove_file(&report);
    let option = if role == "client" { "--client" } else { "--fixture" };
    let mut player = workspace.command(workspace.built("trunkline-vectors"));
    player.arg("--quiet").arg("--report").arg(&report).arg(option).arg(language.launcher(workspace, role));
    if let (Length::Short { turn }, Some(_)) = (selection.length(), selection.half(language)) {
        player.arg("--stdio-share").arg(format!("{}/{STDIO_SHARES}", turn % STDIO_SHARES));
    }
    let output = run(player, TIMEOUT)?;
    let name = format!("the {role} in {}", language.name);
    Ok(played(&name, &output, std::fs::read_to_string(&report).ok().as_deref()))
}

/// The fixture clients, the login examples, and the hosts in a terminal, with a certified
/// authorization server that protects a server of ours.
pub(crate) fn authorization(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    authorize(workspace, selection, &[])
}

/// The same with Keycloak, which behaves like the authorization servers of many companies.
pub(crate) fn authorization_at_keycloak(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let home = system::keycloak(workspace)?;
    authorize(workspace, selection, &["--keycloak".as_ref(), home.as_os_str()])
}

/// The servers of `other_authorization_servers` in Python: name, virtual environment and its
/// requirements, and words of the command line.
const OAUTH_SERVERS: [(&str, &str, &str, &[&str]); 4] = [
    ("mcp 1.x", "mcp-1", "requirements-1.txt", &["oauth_mcp_1.py"]),
    ("mcp 2.x", "mcp-2", "requirements-2.txt", &["oauth_mcp_2.py"]),
    ("FastMCP", "fastmcp", "requirements-fastmcp.txt", &["oauth_fastmcp.py", "memory"]),
    ("FastMCP's OAuth proxy", "fastmcp", "requirements-fastmcp.txt", &["oauth_fastmcp.py", "proxy"]),
];

/// Our clients at the authorization servers of SDKs and frameworks, and at imitations of providers
/// (tests/authorization-servers.json). The core logs in, so two languages are enough.
pub(crate) fn other_authorization_servers(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    let path = |file: &str| workspace.path("tests/peers").join(file);
    node::install(workspace, "tests/peers/node")?;
    let mut logins = workspace.command("node");
    logins.arg(path("node/logins.mjs"));
    for language in &selection.languages {
        let file = match language.name {
            "node" => "node/login_client.mjs",
            "python" => "python/login_client.py",
            _ => continue,
        };
        let client = (language.start)(workspace, &path(file))?;
        logins.arg("--client").arg(client.get_program()).args(client.get_args());
    }
    for (name, venv, requirements, words) in OAUTH_SERVERS {
        let file = |name: &str| path("python").join(name);
        python::make_venv(workspace, venv, Some(&file(requirements)))?;
        logins.args(["--server", name]).arg(workspace.venv_program(venv, "python"));
        logins.arg(file(words[0])).args(&words[1..]);
    }
    let of_node: [(&str, &str, &[&str]); 3] = [
        ("TypeScript SDK 1.x", "oauth_legacy.mjs", &["1"]),
        ("TypeScript SDK 2.x", "oauth_legacy.mjs", &["2"]),
        ("oidc-provider", "oauth_oidc.mjs", &[]),
    ];
    for (name, file, words) in of_node {
        logins.args(["--server", name, "node"]).arg(path("node").join(file)).args(words);
    }
    Ok(of_lines(&run(logins, TIMEOUT)?))
}

/// The same as `authorization` with a real browser that visits the login pages.
pub(crate) fn authorization_in_browser(workspace: &Workspace, selection: &Selection) -> Result<Count> {
    authorize(workspace, selection, &["--browser".as_ref(), system::chromium()?.as_os_str()])
}

/// The instructions of a call, compared with the stored ones.
pub(crate) fn instructions(workspace: &Workspace, _: &Selection) -> Result<Count> {
    if !cfg!(target_os = "linux") {
        return Ok(Count { note: "counted on Linux only".to_owned(), ..Count::default() });
    }
    system::valgrind()?;
    // Not those of the wire log, which other steps record.
    let workspace = workspace.unrecorded();
    let mut python = workspace.command(system::python()?);
    python.arg(workspace.path("benches/instructions.py")).arg(workspace.target.join("debug"));
    let output = run(python, TIMEOUT)?;
    let failed = usize::from(!output.success());
    Ok(Count { passed: 1 - failed, failed, said: output.text, ..Count::default() })
}

/// The bridge's queue and reply slots under loom, which tries all interleavings of their threads.
pub(crate) fn models_of_the_waist(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--package", "trunkline-bridge", "--features", "loom", "--lib", "loom_tests"]);
    Ok(of_cargo(&run(cargo, TIMEOUT)?))
}

fn authorize(workspace: &Workspace, selection: &Selection, options: &[&OsStr]) -> Result<Count> {
    let mut node = workspace.command("node");
    node.arg(workspace.path("tests/peers/node/authorization.mjs")).args(options);
    node.args(selection.languages.iter().map(|language| language.client(workspace)));
    for language in &selection.languages {
        let login = (language.start)(workspace, &language.example(workspace, "login"))?;
        node.arg("--example").arg(login.get_program()).args(login.get_args());
    }
    for language in &selection.languages {
        let host = (language.start)(workspace, &language.example(workspace, "agent_host"))?;
        node.arg("--host").arg(system::python()?).arg(workspace.path("tests/peers/python/at_terminal.py"));
        node.arg(host.get_program()).args(host.get_args());
    }
    Ok(of_lines(&run(node, TIMEOUT)?))
}

/// The npm package as users get it: installed, linted, bundled, traced, and in other runtimes
/// (tests/npm).
pub(crate) fn npm(workspace: &Workspace, _: &Selection) -> Result<Count> {
    let mut node = workspace.command("node");
    node.arg(workspace.path("tests/npm/try.mjs")).arg(workspace.target.join("npm"));
    node.arg(workspace.built_library("trunkline_node"));
    Ok(of_lines(&run(node, TIMEOUT)?))
}

/// The results of a program that prints `ok` or `not ok` with the name of each trial.
pub(crate) fn of_lines(output: &Output) -> Count {
    let lines = |word: &str| output.text.lines().filter(|line| line.starts_with(word)).count();
    judged(output, lines("ok "), lines("not ok "), "")
}

/// The results in a report of the player. A player that fails without a report is a failure, and so
/// is a vector that it skips.
fn played(name: &str, output: &Output, report: Option<&str>) -> Count {
    let report: Value = report.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let number = |name: &str| report[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let count = judged(output, number("held"), number("failed") + number("skipped"), &format!("{name}:\n"));
    Count { left: number("left"), ..count }
}

fn judged(output: &Output, passed: usize, failed: usize, name: &str) -> Count {
    let failed = if failed == 0 && (!output.success() || passed == 0) { 1 } else { failed };
    let said = if failed == 0 { String::new() } else { format!("{name}{}\n[{}]\n", output.text, output.ending()) };
    Count { passed, failed, said, ..Count::default() }
}
