//! The official conformance runners judge our fixture servers (tests/conformance/README.md).

mod listing;
mod suite;
mod table;
mod verdict;

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::build;
use crate::console::{Colour, Console};
use crate::http_servers;
use crate::language::Language;
use crate::report;
use crate::test::{Count, wire};
use crate::workers;
use crate::workspace::Workspace;

use suite::Suite;
use verdict::Verdict;

/// A runner mostly waits for a server, so one more than processors of a small machine.
const RUNS_AT_ONCE: usize = 3;
/// The folder of the runners' own reports, in the target folder.
const RESULTS: &str = "conformance";

/// `cargo xtask conformance server`.
pub(crate) fn run(mut workspace: Workspace, options: &[String]) -> Result<bool> {
    let (languages, only) = parse(options)?;
    let console = Console::new();
    build::languages(&workspace, &languages)?;
    workspace.records = Some(wire::forget_step(&workspace, RESULTS)?);
    let mut count = servers(&workspace, &languages, &only)?;
    for line in count.said.lines() {
        console.line(&if line.starts_with('✗') { console.paint(Colour::Red, line) } else { line.to_owned() });
    }
    let pure = wire::check_step(&workspace, RESULTS)?;
    if pure.failed > 0 {
        console.line(&pure.said);
    }
    console.line(&format!("wire purity: {}", pure.note));
    count = count.and(Count { said: String::new(), note: String::new(), ..pure });
    console.line(&format!("{} passed, {} failed", count.passed, count.failed));
    Ok(count.failed == 0)
}

fn parse(options: &[String]) -> Result<(Vec<Language>, Vec<String>)> {
    let (mut languages, mut only) = (Language::ALL.to_vec(), Vec::new());
    let mut options = options.iter();
    if options.next().map(String::as_str) != Some("server") {
        bail!("say whom the runners shall judge: `cargo xtask conformance server`");
    }
    while let Some(option) = options.next() {
        match (option.as_str(), options.next()) {
            ("--lang", Some(list)) => languages = Language::parse_list(list)?,
            ("--only", Some(words)) => only = words.split(',').map(str::to_owned).collect(),
            _ => bail!("there are two options: --lang rust,python,node,c and --only WORD,WORD (scenarios)"),
        }
    }
    Ok((languages, only))
}

/// Both runners with the fixture servers of these languages: one process and one port per language
/// serves all revisions. `only`: words of which one stands in the name of each scenario that is
/// run; empty: all.
pub(crate) fn servers(workspace: &Workspace, languages: &[Language], only: &[String]) -> Result<Count> {
    let console = Console::new();
    let start = Instant::now();
    build::node::install(workspace, suite::PACKAGE)?;
    let suites: Vec<Suite> = Suite::all(workspace)?.into_iter().filter_map(|suite| suite.narrowed(only)).collect();
    if suites.is_empty() {
        bail!("no scenario has one of the words {} in its name", only.join(", "));
    }
    let commands = languages.iter().map(|language| {
        let mut command = workspace.command(language.server(workspace));
        command.args(["--http", "0"]);
        (language.name().to_owned(), command)
    });
    let (processes, urls) = http_servers::start(commands.collect());

    // Neighbours in this list run together: they are of different languages.
    let jobs: Vec<(&Suite, Language)> =
        suites.iter().flat_map(|suite| languages.iter().map(move |language| (suite, *language))).collect();
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut done = 0;
    workers::run(
        RUNS_AT_ONCE,
        &jobs,
        |(suite, language)| suite.judge(workspace, *language, urls.of(language.name())),
        |index, found| {
            let (suite, language) = jobs[index];
            done += 1;
            console.progress(&format!("{done} of {} runs … last: {} {}", jobs.len(), language.name(), suite.name()));
            verdicts.extend(found);
        },
    );
    let stopped = processes.stop(|_| true);

    let red = verdicts.iter().filter(|verdict| !verdict.is_green()).count();
    let mut count = Count { passed: verdicts.len() - red, failed: red, said: String::new(), note: String::new() };
    count.said = table::draw(languages, &suites, &verdicts);
    match &stopped {
        Ok(()) => count.passed += 1,
        Err(stubborn) => {
            count.failed += 1;
            count.said.push_str(&format!("\nservers that do not stop when asked: {stubborn}"));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    report::write(
        workspace,
        "conformance-server",
        json!({
            "scenarios": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
            "passed": count.passed, "failed": count.failed, "seconds": seconds,
        }),
    )?;
    Ok(count)
}
