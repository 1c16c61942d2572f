//! The steps that the options of `cargo xtask test` choose.

use anyhow::{Context, Result, bail};

use super::steps::{SHARED, Step};
use crate::language::Language;
use crate::process::{must, run};
use crate::workspace::Workspace;

const USAGE: &str = "the options of the tests: --lang A,B, --only WORD,WORD, --changed [BASE] and --long";
const QUICK: std::time::Duration = std::time::Duration::from_secs(60);

/// The selection of the command line.
pub(crate) struct Selection {
    pub(crate) languages: Vec<Language>,
    everything: bool,
    /// The steps that take long, too.
    long: bool,
    /// Words of which one stands in the name of each chosen step; empty: all steps.
    only: Vec<String>,
    /// The paths that have changed; `None`: that does not matter.
    changed: Option<Vec<String>>,
}

impl Selection {
    pub(super) fn parse(workspace: &Workspace, options: &[String]) -> Result<Self> {
        let mut selection =
            Self { languages: Language::ALL.to_vec(), everything: true, long: false, only: Vec::new(), changed: None };
        let mut options = options.iter().peekable();
        while let Some(option) = options.next() {
            let mut value = || options.next_if(|value| !value.starts_with("--"));
            match option.as_str() {
                "--long" => selection.long = true,
                "--lang" => {
                    selection.languages = Language::parse_list(value().context(USAGE)?)?;
                    selection.everything = false;
                }
                "--only" => selection.only = value().context(USAGE)?.split(',').map(str::to_owned).collect(),
                "--changed" => selection.changed = Some(changed(workspace, value())?),
                _ => bail!(USAGE),
            }
        }
        Ok(selection)
    }

    /// Returns whether nothing is left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.everything && self.only.is_empty() && self.changed.is_none()
    }

    pub(super) fn names_languages(&self) -> bool {
        !self.everything
    }

    /// An error if a word finds none: a run of nothing must not look like one that passed.
    pub(super) fn steps(&self) -> Result<Vec<&'static Step>> {
        let shared = SHARED.iter().filter(|step| self.everything || step.each_language);
        let of_languages = self.languages.iter().flat_map(|language| language.steps);
        let mut steps: Vec<&Step> = Vec::new();
        for step in of_languages.chain(shared).filter(|step| self.long || !step.long) {
            // Some are of several languages.
            if steps.iter().all(|known| known.name != step.name) {
                steps.push(step);
            }
        }
        let names = || steps.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
        for word in &self.only {
            if word.is_empty() || !steps.iter().any(|step| step.name.contains(word.as_str())) {
                bail!("--only {word:?} stands in the name of no step of the chosen languages; these are: {}", names());
            }
        }
        if !self.only.is_empty() {
            steps.retain(|step| self.only.iter().any(|word| step.name.contains(word.as_str())));
        }
        if let Some(paths) = &self.changed {
            steps.retain(|step| step.is_touched(paths));
        }
        Ok(steps)
    }
}

/// The paths that differ from a commit, by default from the last one that this branch shares with
/// `origin/main`, or the one before the last.
fn changed(workspace: &Workspace, base: Option<&String>) -> Result<Vec<String>> {
    let git = |words: &[&str]| {
        let mut git = workspace.command("git");
        git.args(words);
        git
    };
    let shared = run(git(&["merge-base", "HEAD", "origin/main"]), QUICK)?;
    let head = must(git(&["rev-parse", "HEAD"]), QUICK)?;
    let base = match base {
        Some(base) => base.as_str(),
        None if shared.success() && shared.stdout != head.stdout => shared.stdout.trim(),
        None => "HEAD~1",
    };
    let mut paths = must(git(&["diff", "--name-only", "--no-renames", base, "--"]), QUICK)?.stdout;
    paths.push_str(&must(git(&["ls-files", "--others", "--exclude-standard"]), QUICK)?.stdout);
    Ok(paths.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[&str]) -> Result<Vec<&'static str>> {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        Ok(Selection::parse(&Workspace::find()?, &options)?.steps()?.into_iter().map(|step| step.name).collect())
    }

    #[test]
    fn words_choose_steps_and_each_must_find_one() {
        assert_eq!((chosen(&[]).unwrap().len(), chosen(&["--long"]).unwrap().len()), (33, 43));
        assert!(chosen(&["--only", "in a browser"]).is_err());
        assert_eq!(chosen(&["--only", "in a browser", "--long"]).unwrap(), ["authorization server in a browser"]);
        assert_eq!(chosen(&["--only", "matrix,methods"]).unwrap(), ["methods in bindings", "matrix"]);
        assert!(chosen(&["--only"]).is_err() && chosen(&["--what"]).is_err());
        let error = chosen(&["--only", "matrix,matirx"]).unwrap_err().to_string();
        assert!(error.starts_with("--only \"matirx\"") && error.contains("methods in bindings, "), "{error}");
    }

    #[test]
    fn a_word_must_find_a_step_of_the_chosen_languages() {
        assert_eq!(chosen(&["--lang", "node", "--only", "node tests"]).unwrap(), ["node tests"]);
        assert!(chosen(&["--lang", "node", "--only", "python tests"]).is_err());
        assert!(chosen(&["--only", ""]).is_err(), "an empty word stands in every name");
    }

    #[test]
    fn a_change_chooses_what_it_can_break() {
        let touched = |path: &str| {
            let all = Selection::parse(&Workspace::find().unwrap(), &[]).unwrap();
            let selection = Selection { changed: Some(vec![path.to_owned()]), ..all };
            selection.steps().unwrap().into_iter().map(|step| step.name).collect::<Vec<_>>()
        };
        assert_eq!(touched("xtask/src/main.rs").len(), 33);
        assert!(touched(".github/workflows/ci.yml").contains(&"workflow lint"));
        let of_python = touched("bindings-python/python/trunkline/_internal/calls.py");
        assert!(["python tests", "python types", "matrix"].iter().all(|step| of_python.contains(step)));
        assert!(["node tests", "rust and c tests", "rust clippy"].iter().all(|step| !of_python.contains(step)));
        let of_page = touched("docs/tools.md");
        assert!(of_page.contains(&"prose") && !of_page.contains(&"matrix"));
    }
}
