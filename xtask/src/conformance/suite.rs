//! The scenarios and commands of one runner against one server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::conformance::verdict::{Fault, Verdict};
use crate::conformance::{RESULTS, listing};
use crate::language::Language;
use crate::process::{must, run, tail};
use crate::workspace::Workspace;

/// Where the runners and their Node are installed.
pub(super) const PACKAGE: &str = "tests/conformance";
/// For one process of a runner: some fifty scenarios, most of which take a fraction of a second.
const DEADLINE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Stable,
    Newest,
}

impl Runner {
    fn alias(self) -> &'static str {
        match self {
            Self::Stable => "conformance-stable",
            Self::Newest => "conformance-newest",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Stable => "0.1.16",
            Self::Newest => "0.2.0-alpha.12",
        }
    }

    /// The runner on its own Node, which may be newer than the one of the machine.
    fn command(self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let modules = workspace.path(PACKAGE).join("node_modules");
        let mut command =
            workspace.command(modules.join("node/bin").join(format!("node{}", std::env::consts::EXE_SUFFIX)));
        command.arg(modules.join(self.alias()).join("dist/index.js")).args(arguments);
        command
    }

    fn list(self, workspace: &Workspace, options: &[&str]) -> Result<(Vec<String>, Vec<String>)> {
        let command = self.command(workspace, &[&["list", "--server"], options].concat());
        Ok(listing::read(&must(command, DEADLINE)?.stdout))
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// `true` if it counts towards conformance with its revision. All others have to be green too.
    pub(super) scored: bool,
}

pub(super) struct Suite {
    pub(super) runner: Runner,
    /// The revision that is spoken, if the scenarios do not choose it themselves.
    pub(super) revision: Option<&'static str>,
    pub(super) scenarios: Vec<Scenario>,
    taken: Taken,
}

/// How the runner is told what to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// As the requirement set of its revision.
    AsRequirements,
    /// As all that there is for its revision.
    Whole,
    OneByOne,
}

/// The requirement sets, frozen with their revision, and how many server scenarios each scores.
const SETS: [(&str, usize); 2] = [("2025-11-25", 30), ("2026-07-28", 37)];
/// The older revisions that the newest runner speaks; nothing is scored in them.
const OLDER: [&str; 2] = ["2025-03-26", "2025-06-18"];

impl Suite {
    /// Every server scenario of both runners, at least once.
    pub(super) fn all(workspace: &Workspace) -> Result<Vec<Self>> {
        let mut suites = Vec::new();
        for (revision, scored) in SETS {
            let (counted, reported) = Runner::Newest.list(workspace, &["--requirements", revision])?;
            if counted.len() != scored {
                bail!("the requirement set {revision} scores {} server scenarios, not {scored}", counted.len());
            }
            let scenarios = scenarios(counted, true).chain(scenarios(reported, false)).collect();
            let (revision, taken) = (Some(revision), Taken::AsRequirements);
            suites.push(Self { runner: Runner::Newest, revision, scenarios, taken });
        }
        let (known, _) = Runner::Newest.list(workspace, &[])?;
        let rest: Vec<String> =
            known.into_iter().filter(|name| !suites.iter().any(|suite: &Self| suite.has(name))).collect();
        let extra = |runner, revision, names, taken| Self {
            runner,
            revision,
            scenarios: scenarios(names, false).collect(),
            taken,
        };
        suites.push(extra(Runner::Newest, None, rest, Taken::OneByOne));
        for revision in OLDER {
            let (names, _) = Runner::Newest.list(workspace, &["--spec-version", revision])?;
            suites.push(extra(Runner::Newest, Some(revision), names, Taken::Whole));
        }
        let (stable, _) = Runner::Stable.list(workspace, &[])?;
        suites.push(extra(Runner::Stable, None, stable, Taken::Whole));
        Ok(suites)
    }

    /// Returns whether some of it is scored, and the rest is only reported.
    pub(super) fn is_scored(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.scored)
    }

    fn has(&self, name: &str) -> bool {
        self.scenarios.iter().any(|scenario| scenario.name == name)
    }

    /// Only the scenarios with one of the words in their name; `None`: there is none.
    pub(super) fn narrowed(mut self, words: &[String]) -> Option<Self> {
        if !words.is_empty() {
            self.scenarios.retain(|scenario| words.iter().any(|word| scenario.name.contains(word.as_str())));
            self.taken = Taken::OneByOne;
        }
        (!self.scenarios.is_empty()).then_some(self)
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.runner.version(), self.part())
    }

    pub(super) fn part(&self) -> &'static str {
        match (self.revision, self.runner) {
            (Some(revision), _) => revision,
            (None, Runner::Stable) => "all",
            (None, Runner::Newest) => "other extensions",
        }
    }

    /// Runs it against the server of a language.
    pub(super) fn judge(&self, workspace: &Workspace, language: Language, url: Result<&str, String>) -> Vec<Verdict> {
        let verdict = |scenario: &Scenario, faults| Verdict {
            language,
            runner: self.runner.version(),
            part: self.part(),
            scenario: scenario.name.clone(),
            scored: scenario.scored,
            faults,
        };
        let all_red = |why: &str| self.scenarios.iter().map(|one| verdict(one, vec![Fault::new(why)])).collect();
        let ending =
            match url.map_err(|error| anyhow::anyhow!(error)).and_then(|url| self.run(workspace, language, url)) {
                Ok(ending) => ending,
                Err(error) => return all_red(&format!("{error:#}")),
            };
        let results = self.results(workspace, language);
        self.scenarios
            .iter()
            .map(|scenario| {
                let faults = checks_of(&results, &scenario.name)
                    .and_then(|file| Fault::all_in(&scenario.name, &file))
                    .unwrap_or_else(|error| vec![Fault::new(&format!("{error:#}; {ending}"))]);
                verdict(scenario, faults)
            })
            .collect()
    }

    /// How the runner ended, in words. That it found something wrong is in its results.
    fn run(&self, workspace: &Workspace, language: Language, url: &str) -> Result<String> {
        let results = self.results(workspace, language);
        if results.exists() {
            std::fs::remove_dir_all(&results).with_context(|| format!("cannot empty {}", results.display()))?;
        }
        std::fs::create_dir_all(&results)?;
        let mut endings = String::new();
        for choice in self.choices() {
            let mut command = self.runner.command(workspace, &["server", "--url", url]);
            command.args(choice).arg("--output-dir").arg(&results);
            let output = run(command, DEADLINE)?;
            std::fs::write(results.join("said.txt"), &output.text)?;
            if !matches!(output.status.and_then(|status| status.code()), Some(0 | 1)) {
                endings.push_str(&format!("the runner ended with {}\n{}\n", output.ending(), tail(&output.text, 15)));
            }
        }
        Ok(endings)
    }

    /// The options of each process that is needed.
    fn choices(&self) -> Vec<Vec<&str>> {
        match (self.taken, self.revision) {
            (Taken::AsRequirements, Some(revision)) => vec![vec!["--requirements", revision]],
            (Taken::Whole, Some(revision)) => vec![vec!["--suite", "all", "--spec-version", revision]],
            (Taken::Whole | Taken::AsRequirements, None) => vec![vec!["--suite", "all"]],
            (Taken::OneByOne, revision) => {
                let one_by_one = |scenario| {
                    let mut choice = vec!["--scenario", scenario];
                    choice.extend(revision.into_iter().flat_map(|revision| ["--spec-version", revision, "--force"]));
                    choice
                };
                self.scenarios.iter().map(|scenario| one_by_one(scenario.name.as_str())).collect()
            }
        }
    }

    fn results(&self, workspace: &Workspace, language: Language) -> PathBuf {
        workspace.target.join(RESULTS).join(language.name()).join(self.name().replace(' ', "-"))
    }
}

fn scenarios(names: Vec<String>, scored: bool) -> impl Iterator<Item = Scenario> {
    names.into_iter().map(move |name| Scenario { name, scored })
}

/// The runners write into folders such as `server-ping-2026-01-31T10-20-30-123Z`.
fn checks_of(results: &Path, scenario: &str) -> Result<PathBuf> {
    let start = format!("server-{scenario}-");
    for entry in std::fs::read_dir(results)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(&start).is_some_and(|time| time.starts_with("20") && time.ends_with('Z')) {
            return Ok(entry.path().join("checks.json"));
        }
    }
    bail!("the runner wrote no result for it")
}
