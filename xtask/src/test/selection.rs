//! Selects steps by the options of `cargo xtask test`.

use std::time::Duration;

use anyhow::Result;

use super::steps::{SHARED, Step};
use crate::language::Language;
use crate::length::Length;
use crate::options::Options;
use crate::process::{must, run};
use crate::workspace::Workspace;

const GIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The selection from the command line.
pub(crate) struct Selection {
    /// The languages of the command line; if only changes are tested, those of them for which the
    /// changes can break a step of all languages.
    pub(crate) languages: Vec<Language>,
    options: Options,
    length: Length,
    /// The changed paths; `None` if all steps should run.
    changed: Option<Vec<String>>,
}

impl Selection {
    pub(super) fn parse(workspace: &Workspace, options: &[String]) -> Result<Self> {
        let options = Options::parse(options, &["--lang", "--only", "--changed", "--long", "--timings"])?;
        let length = Length::of(workspace, options.long)?;
        let changed = options.changed.as_ref().map(|base| changed(workspace, base.as_deref())).transpose()?;
        Ok(Self::new(options, length, changed))
    }

    fn new(options: Options, length: Length, changed: Option<Vec<String>>) -> Self {
        let mut languages = options.languages.clone();
        if let Some(paths) = &changed {
            let is_read = |path: &&String| {
                SHARED.iter().any(|step| step.each_language && step.is_touched(std::slice::from_ref(*path)))
            };
            let read: Vec<String> = paths.iter().filter(is_read).cloned().collect();
            languages.retain(|language| read.is_empty() || language.is_touched(&read));
        }
        Self { languages, options, length, changed }
    }

    pub(crate) fn length(&self) -> Length {
        self.length
    }

    pub(super) fn shows_timings(&self) -> bool {
        self.options.timings
    }

    /// Returns whether all steps are selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.options.has_all_languages() && self.options.only.is_empty() && self.changed.is_none()
    }

    /// The steps that only the long form has.
    pub(super) fn left_steps(&self) -> Vec<&'static str> {
        let of_languages = self.languages.iter().flat_map(|language| language.steps);
        let is_left = |step: &&Step| self.is_everything() && !self.length.is_long() && step.long;
        of_languages.chain(&SHARED).filter(is_left).map(|step| step.name).collect()
    }

    pub(super) fn steps(&self) -> Result<Vec<&'static Step>> {
        let shared = SHARED.iter().filter(|step| self.options.has_all_languages() || step.each_language);
        let of_languages = self.options.languages.iter().flat_map(|language| language.steps);
        let mut steps: Vec<&Step> = Vec::new();
        for step in of_languages.chain(shared).filter(|step| self.length.is_long() || !step.long) {
            // Some steps belong to several languages.
            if steps.iter().all(|known| known.name != step.name) {
                steps.push(step);
            }
        }
        self.options.choose(&mut steps, |step| step.name.to_owned())?;
        if let Some(paths) = &self.changed {
            steps.retain(|step| step.is_touched(paths));
        }
        Ok(steps)
    }
}

/// The paths that differ from a commit: by default from the last one shared with `origin/main`, or
/// else the one before the last.
fn changed(workspace: &Workspace, base: Option<&str>) -> Result<Vec<String>> {
    let git = |words: &[&str]| {
        let mut git = workspace.command("git");
        git.args(words);
        git
    };
    let shared = run(git(&["merge-base", "HEAD", "origin/main"]), GIT_TIMEOUT)?;
    let head = must(git(&["rev-parse", "HEAD"]), GIT_TIMEOUT)?;
    let base = match base {
        Some(base) => base,
        None if shared.success() && shared.stdout != head.stdout => shared.stdout.trim(),
        None => "HEAD~1",
    };
    let mut paths = must(git(&["diff", "--name-only", "--no-renames", base, "--"]), GIT_TIMEOUT)?.stdout;
    paths.push_str(&must(git(&["ls-files", "--others", "--exclude-standard"]), GIT_TIMEOUT)?.stdout);
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
        assert_eq!((chosen(&[]).unwrap().len(), chosen(&["--long"]).unwrap().len()), (43, 57));
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
            let selection = Selection::new(all.options, all.length, Some(vec![path.to_owned()]));
            selection.steps().unwrap().into_iter().map(|step| step.name).collect::<Vec<_>>()
        };
        assert_eq!(touched("xtask/src/main.rs").len(), 43);
        assert!(touched(".github/workflows/ci.yml").contains(&"workflow lint"));
        let of_python = touched("bindings-python/python/trunkline/_internal/calls.py");
        assert!(["python tests", "python types", "matrix"].iter().all(|step| of_python.contains(step)));
        assert!(["node tests", "rust and c tests", "rust clippy"].iter().all(|step| !of_python.contains(step)));
        let changed = |path: &str| {
            let all = Selection::parse(&Workspace::find().unwrap(), &[]).unwrap();
            let selection = Selection::new(all.options, all.length, Some(vec![path.to_owned()]));
            selection.languages.iter().map(|language| language.name).collect::<Vec<_>>()
        };
        assert_eq!(changed("bindings-python/python/trunkline/_internal/calls.py"), ["python"]);
        assert_eq!(changed("bindings-uniffi/kotlin/pom.xml"), ["kotlin", "java"]);
        assert_eq!(changed("bindings-c/src/lib.rs"), ["c", "go"]);
        assert_eq!(changed("core/spine/src/lib.rs").len(), Language::available().len());
        let of_page = touched("docs/tools.md");
        assert!(of_page.contains(&"prose") && ["matrix", "generated files"].iter().all(|step| !of_page.contains(step)));
    }
}
