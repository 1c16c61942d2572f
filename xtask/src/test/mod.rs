//! `cargo xtask test`: builds, then runs every check and every suite, each with a deadline. A
//! failing step does not stop the others.

mod circles;
mod counts;
mod coverage;
mod dependencies;
mod deployment;
mod examples;
mod features;
mod figure;
mod fixed_bounds;
mod lint;
mod methods;
mod option_figures;
mod programs;
mod promises;
mod prose;
mod rooms;
mod rust_docs;
mod sanitized;
mod snippets;
mod suites;
mod type_names;
pub(crate) mod wire;
mod workflows;

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use crate::build;
use crate::console::{Colour, Console};
use crate::language::Language;
use crate::pages;
use crate::process::tail;
use crate::report;
use crate::requirements;
use crate::workers;
use crate::workspace::Workspace;

/// Lines of a failed step's output that are shown; all of it is in `target/reports/logs`.
const SHOWN_LINES: usize = 60;

/// The findings of a step.
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The output of the step: shown when something failed.
    pub(crate) said: String,
    /// One line that is shown in any case, may be empty.
    pub(crate) note: String,
}

pub(crate) struct Step {
    name: &'static str,
    /// The languages that it belongs to; empty: it is run whenever no language is chosen.
    languages: &'static [Language],
    turn: Turn,
    work: fn(&Workspace, &Selection) -> Result<Count>,
}

/// The order of steps: those of cargo, one after the other because cargo locks its build directory;
/// beside them the other ones, which mostly wait; and at last those that read what the others
/// wrote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Cargo,
    Beside,
    Last,
}

/// The selection of the command line.
pub(crate) struct Selection {
    pub(crate) languages: Vec<Language>,
    everything: bool,
    /// The steps that take long, too.
    pub(crate) long: bool,
    /// Words of which one stands in the name of each chosen step; empty: all steps.
    only: Vec<String>,
}

const WIRE: &str = "wire purity";

const STEPS: [Step; 35] = {
    use Language::{C, Node, Python, Rust};
    use Turn::{Beside, Cargo, Last};
    [
        Step { name: "rust format", turn: Cargo, languages: &[Rust], work: lint::rust_format },
        Step { name: "rust clippy", turn: Cargo, languages: &[Rust], work: lint::rust_clippy },
        Step { name: "methods in bindings", turn: Beside, languages: &[Rust], work: methods::check },
        Step { name: "import circles", turn: Beside, languages: &[Rust, C], work: circles::check },
        Step { name: "type names", turn: Beside, languages: &[Rust, C], work: type_names::check },
        Step {
            name: "requirements",
            turn: Beside,
            languages: &[],
            work: |workspace, _| requirements::check(workspace),
        },
        Step { name: "prose", turn: Beside, languages: &[], work: prose::check },
        Step { name: "fixed bounds", turn: Beside, languages: &[], work: fixed_bounds::check },
        Step { name: "promises", turn: Beside, languages: &[], work: promises::check },
        Step { name: "rooms of the bindings", turn: Beside, languages: &[], work: rooms::check },
        Step { name: "dependencies", turn: Cargo, languages: &[Rust], work: dependencies::check },
        Step {
            name: "generated files",
            turn: Cargo,
            languages: &[],
            work: |workspace, _| crate::generate::check(workspace),
        },
        Step { name: "python format", turn: Beside, languages: &[Python], work: lint::python_format },
        Step { name: "python lint", turn: Beside, languages: &[Python], work: lint::python_lint },
        Step { name: "python types", turn: Beside, languages: &[Python], work: lint::python_types },
        Step { name: "node lint and types", turn: Beside, languages: &[Node], work: lint::node },
        Step { name: "workflow lint", turn: Beside, languages: &[], work: lint::workflows },
        Step { name: "pinned workflows", turn: Beside, languages: &[], work: workflows::check },
        Step { name: "rust and c tests", turn: Cargo, languages: &[Rust, C], work: suites::rust_and_c },
        Step { name: "python tests", turn: Beside, languages: &[Python], work: suites::python },
        Step { name: "node tests", turn: Beside, languages: &[Node], work: suites::node },
        Step { name: "vectors", turn: Beside, languages: &Language::ALL, work: suites::vectors },
        Step {
            name: "conformance",
            turn: Beside,
            languages: &Language::ALL,
            work: |workspace, selection| crate::conformance::servers(workspace, &selection.languages, &[]),
        },
        // The server and the authorization server are programs of Node.
        Step { name: "authorization server", turn: Beside, languages: &[Node], work: suites::authorization },
        Step { name: "matrix", turn: Beside, languages: &Language::ALL, work: crate::matrix::check },
        Step { name: "snippets", turn: Cargo, languages: &[], work: snippets::check },
        Step { name: "programs of snippets", turn: Beside, languages: &Language::ALL, work: programs::run_all },
        Step { name: "deployment", turn: Beside, languages: &Language::ALL, work: deployment::check },
        Step { name: "feature by language", turn: Beside, languages: &[], work: coverage::check },
        Step { name: "documentation site", turn: Beside, languages: &[], work: site },
        Step { name: "examples", turn: Cargo, languages: &Language::ALL, work: examples::run_all },
        Step {
            name: "conformance of clients",
            turn: Beside,
            languages: &Language::ALL,
            work: |workspace, selection| crate::conformance::passed_clients(workspace, &selection.languages, false),
        },
        Step {
            name: "conformance of clients that wait",
            turn: Last,
            languages: &Language::ALL,
            work: |workspace, selection| crate::conformance::passed_clients(workspace, &selection.languages, true),
        },
        // Figures of time: nothing runs beside them.
        Step { name: "scars", turn: Last, languages: &Language::ALL, work: crate::scars::check },
        Step { name: WIRE, turn: Last, languages: &Language::ALL, work: wire::check },
    ]
};

/// The steps of the long form. CI runs the first two for each push, in a job of their own: they
/// compile all crates again, in other forms than the tests do.
const LONG_STEPS: [Step; 10] = [
    Step { name: "rust doc", turn: Turn::Cargo, languages: &[Language::Rust], work: lint::rust_doc },
    Step { name: "cargo features", turn: Turn::Cargo, languages: &[Language::Rust], work: features::check },
    Step {
        name: "authorization server in a browser",
        turn: Turn::Beside,
        languages: &[Language::Node],
        work: suites::authorization_in_browser,
    },
    Step {
        name: "keycloak",
        turn: Turn::Beside,
        languages: &[Language::Node],
        work: suites::authorization_at_keycloak,
    },
    Step {
        name: "models of the waist",
        turn: Turn::Last,
        languages: &[Language::Rust],
        work: suites::models_of_the_waist,
    },
    Step { name: "c under valgrind", turn: Turn::Last, languages: &[Language::C], work: suites::c_under_valgrind },
    Step { name: "npm package", turn: Turn::Beside, languages: &[Language::Node], work: suites::npm },
    Step {
        name: "python under the address sanitizer",
        turn: Turn::Last,
        languages: &[Language::Python],
        work: sanitized::python,
    },
    Step {
        name: "node under the address sanitizer",
        turn: Turn::Last,
        languages: &[Language::Node],
        work: sanitized::node,
    },
    Step { name: "c under the address sanitizer", turn: Turn::Last, languages: &[Language::C], work: sanitized::c },
];

pub(crate) fn run(workspace: Workspace, options: &[String]) -> Result<bool> {
    let selection = Selection::parse(options)?;
    let console = Console::new();
    let start = Instant::now();
    let steps = selection.steps()?;
    // Messages are only recorded when they will be checked; if nothing else is chosen, the records
    // of the last run are checked.
    let records = steps.iter().any(|step| step.name == WIRE).then(|| wire::records(&workspace));
    if records.is_some() && steps.len() > 1 {
        wire::forget(&workspace)?;
    }

    let build_start = Instant::now();
    let built = prepare(&workspace, &selection, &steps, &console);
    let built = built.map(|()| Count::one_passed(String::new()));
    let mut results = vec![finish(&workspace, &console, "build", build_start, built)?];
    let one = |step: &Step| {
        console.step(&format!("{} …", step.name));
        let mut workspace = workspace.clone();
        workspace.records = records.as_ref().map(|folder| folder.join(file_name(step.name)));
        let step_start = Instant::now();
        finish(&workspace, &console, step.name, step_start, (step.work)(&workspace, &selection))
    };
    let of = |turn: Turn| steps.iter().copied().filter(|step| step.turn == turn).collect::<Vec<_>>();
    let all = |steps: &Vec<&Step>| steps.iter().copied().map(one).collect::<Result<Vec<_>>>();
    // The worker that is done with cargo takes its part of the others.
    let mut lanes = vec![of(Turn::Cargo)];
    lanes.extend(of(Turn::Beside).into_iter().map(|step| vec![step]));
    let mut done = Vec::new();
    workers::run(2, &lanes, all, |_, results| done.push(results));
    done.push(all(&of(Turn::Last)));
    for lane in done {
        results.extend(lane?);
    }

    let (passed, failed) =
        results.iter().fold((0, 0), |(passed, failed), result| (passed + result.passed, failed + result.failed));
    let steps: Vec<_> = results.iter().map(Done::to_json).collect();
    report::write(
        &workspace,
        "test",
        json!({"steps": steps, "passed": passed, "failed": failed, "seconds": start.elapsed().as_secs_f64()}),
    )?;
    for result in results.iter().filter(|result| result.failed > 0) {
        console.line(&format!(
            "{} {} (target/reports/logs/{})",
            console.paint(Colour::Red, "failed:"),
            result.name,
            log_name(result.name)
        ));
    }
    console.line(&format!("{passed} passed, {failed} failed"));
    Ok(failed == 0)
}

/// The site is built, and no link on it is broken.
fn site(workspace: &Workspace, _: &Selection) -> Result<Count> {
    pages::build(workspace).map(|_| Count::one_passed(String::new()))
}

/// Builds the parts that the steps need. Installations mostly wait for the network, and the
/// compiler needs none of them: so they run meanwhile.
fn prepare(workspace: &Workspace, selection: &Selection, steps: &[&Step], console: &Console) -> Result<()> {
    std::thread::scope(|scope| {
        let installed = scope.spawn(|| install(workspace, selection, console));
        let built = build::languages(workspace, &selection.languages);
        let installed = installed.join().unwrap_or_else(|_| bail!("the installation of the test tools panicked"));
        built.and(installed)
    })?;
    let runs_examples =
        |step: &&Step| ["authorization server", "deployment", "examples", "programs of snippets"].contains(&step.name);
    if selection.languages.contains(&Language::Rust) && steps.iter().any(runs_examples) {
        build::step(console, "examples in Rust", || examples::build(workspace))?;
    }
    Ok(())
}

/// Installs linters, test tools and the official SDKs.
fn install(workspace: &Workspace, selection: &Selection, console: &Console) -> Result<()> {
    build::step(console, "test tools", || {
        if selection.languages.contains(&Language::Python) {
            build::python::install_tools(workspace)?;
        }
        if selection.languages.contains(&Language::Node) {
            build::node::install(workspace, build::node::PACKAGE)?;
        }
        pages::install(workspace)?;
        build::node::install(workspace, ".ci")
    })?;
    build::step(console, "peers: the official SDKs", || build::peers::install(workspace))
}

impl Selection {
    fn parse(options: &[String]) -> Result<Self> {
        let mut selection = Self { languages: Language::ALL.to_vec(), everything: true, long: false, only: Vec::new() };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            if option == "--long" {
                selection.long = true;
                continue;
            }
            match (option.as_str(), options.next()) {
                ("--lang", Some(list)) => {
                    selection.languages = Language::parse_list(list)?;
                    selection.everything = false;
                }
                ("--only", Some(words)) => selection.only = words.split(',').map(str::to_owned).collect(),
                _ => bail!("the options of the tests: --lang rust,python,node,c and --only WORD,WORD and --long"),
            }
        }
        Ok(selection)
    }

    /// Returns whether nothing is left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.everything && self.only.is_empty()
    }

    /// An error if a word finds none: a run of nothing must not look like one that passed.
    fn steps(&self) -> Result<Vec<&'static Step>> {
        let long = LONG_STEPS.iter().filter(|_| self.long);
        let mut steps: Vec<&Step> = STEPS.iter().chain(long).filter(|step| self.has_language_of(step)).collect();
        let names = || steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
        for word in &self.only {
            if word.is_empty() || !steps.iter().any(|step| step.name.contains(word.as_str())) {
                bail!("--only {word:?} stands in the name of no step of the chosen languages; these are: {}", names());
            }
        }
        if !self.only.is_empty() {
            steps.retain(|step| self.only.iter().any(|word| step.name.contains(word.as_str())));
        }
        Ok(steps)
    }

    fn has_language_of(&self, step: &Step) -> bool {
        self.everything || step.languages.iter().any(|language| self.languages.contains(language))
    }
}

impl Count {
    pub(crate) fn one_passed(note: String) -> Self {
        Self { passed: 1, failed: 0, said: String::new(), note }
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        let parts = |one: String, two: String| {
            if one.is_empty() || two.is_empty() { one + &two } else { format!("{one}\n{two}") }
        };
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            said: parts(self.said, other.said),
            note: parts(self.note, other.note),
        }
    }
}

struct Done {
    name: &'static str,
    passed: usize,
    failed: usize,
    seconds: f64,
    note: String,
}

/// Shows what a step found, and keeps what it said.
fn finish(
    workspace: &Workspace,
    console: &Console,
    name: &'static str,
    start: Instant,
    outcome: Result<Count>,
) -> Result<Done> {
    let count =
        outcome.unwrap_or_else(|error| Count { passed: 0, failed: 1, said: format!("{error:#}"), note: String::new() });
    let seconds = start.elapsed().as_secs_f64();
    let logs = workspace.target.join("reports").join("logs");
    std::fs::create_dir_all(&logs)?;
    std::fs::write(logs.join(log_name(name)), &count.said)?;

    let verdict =
        if count.failed == 0 { console.paint(Colour::Green, "ok    ") } else { console.paint(Colour::Red, "FAILED") };
    let sums = if count.passed + count.failed == 1 {
        String::new()
    } else {
        format!(": {} passed, {} failed", count.passed, count.failed)
    };
    let note = if count.note.is_empty() { String::new() } else { format!(", {}", count.note) };
    let mut shown = format!("{verdict} {name}{sums}{note} {}", console.paint(Colour::Dim, &format!("{seconds:.1} s")));
    if count.failed > 0 {
        let named = counts::failed_tests(&count.said).into_iter().take(SHOWN_LINES);
        shown.extend(named.chain(tail(&count.said, SHOWN_LINES).lines()).map(|line| format!("\n       {line}")));
    }
    console.line(&shown);
    Ok(Done { name, passed: count.passed, failed: count.failed, seconds, note: count.note })
}

fn log_name(step: &str) -> String {
    format!("{}.txt", file_name(step))
}

fn file_name(step: &str) -> String {
    step.replace(' ', "-")
}

impl Done {
    fn to_json(&self) -> serde_json::Value {
        json!({"step": self.name, "passed": self.passed, "failed": self.failed, "seconds": self.seconds, "note": self.note})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[&str]) -> Result<Vec<&'static str>> {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        Ok(Selection::parse(&options)?.steps()?.into_iter().map(|step| step.name).collect())
    }

    #[test]
    fn words_choose_steps_and_each_must_find_one() {
        assert_eq!(chosen(&[]).unwrap().len(), STEPS.len());
        assert_eq!(chosen(&["--long"]).unwrap().len(), STEPS.len() + LONG_STEPS.len());
        assert!(chosen(&["--only", "in a browser"]).is_err());
        assert_eq!(chosen(&["--only", "in a browser", "--long"]).unwrap(), ["authorization server in a browser"]);
        assert_eq!(chosen(&["--only", "matrix,methods"]).unwrap(), ["methods in bindings", "matrix"]);
        let error = chosen(&["--only", "matrix,matirx"]).unwrap_err().to_string();
        assert!(error.starts_with("--only \"matirx\"") && error.contains("methods in bindings, "), "{error}");
    }

    #[test]
    fn a_word_must_find_a_step_of_the_chosen_languages() {
        assert_eq!(chosen(&["--lang", "node", "--only", "node tests"]).unwrap(), ["node tests"]);
        assert!(chosen(&["--lang", "node", "--only", "python tests"]).is_err());
        assert!(chosen(&["--only", ""]).is_err(), "an empty word stands in every name");
    }
}
