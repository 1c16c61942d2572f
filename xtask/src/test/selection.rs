//! Selects steps by the options of `cargo xtask test`.

use std::time::Duration;

use anyhow::Result;

use super::reads;
use super::steps::{SHARED, Step, Turn};
use crate::language::Language;
use crate::length::Length;
use crate::options::Options;
use crate::process::{must, run};
use crate::workspace::Workspace;

const GIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The selection from the command line.
#[derive(Clone)]
pub(crate) struct Selection {
    /// The languages that a step runs with.
    pub(crate) languages: Vec<Language>,
    options: Options,
    length: Length,
    /// The changed paths; `None` if all steps should run.
    changed: Option<Vec<String>>,
}

/// A step, and the language in whose entry it stands.
type Declared = (Option<Language>, &'static Step);

fn declared() -> impl Iterator<Item = Declared> {
    let of_languages =
        Language::known().flat_map(|language| language.steps.iter().map(move |step| (Some(language), step)));
    of_languages.chain(SHARED.iter().map(|step| (None, step)))
}

impl Selection {
    pub(super) fn parse(workspace: &Workspace, options: &[String]) -> Result<Self> {
        let options = Options::parse(options, &["--lang", "--only", "--changed", "--long", "--timings"])?;
        let length = Length::of(workspace, options.long)?;
        let changed = options.changed.as_ref().map(|base| changed(workspace, base.as_deref())).transpose()?;
        Ok(Self::new(options, length, changed))
    }

    fn new(options: Options, length: Length, changed: Option<Vec<String>>) -> Self {
        Self { languages: options.languages.clone(), options, length, changed }
    }

    /// The selection for a step, with the languages that it runs with.
    pub(super) fn of(&self, step: &Step) -> Self {
        Self { languages: self.languages_of(step), ..self.clone() }
    }

    /// The languages of which a step needs the package and the programs.
    pub(super) fn built_languages(&self, steps: &[&Step]) -> Vec<Language> {
        if self.changed.is_none() {
            return self.languages.clone();
        }
        let mut languages = self.languages.clone();
        languages.retain(|language| {
            steps.iter().filter(|step| step.turn != Turn::Early).any(|step| {
                let is_own = language.steps.iter().any(|own| own.name == step.name);
                is_own || step.each_language && self.languages_of(step).contains(language)
            })
        });
        languages
    }

    /// Returns whether a step runs with the language of that name.
    pub(super) fn has(&self, step: &Step, name: &str) -> bool {
        self.languages_of(step).iter().any(|language| language.name == name)
    }

    /// The languages that a step runs with. If only changes are tested, those in which they can
    /// break it.
    fn languages_of(&self, step: &Step) -> Vec<Language> {
        let touched: Vec<Language> = declared()
            .filter(|(_, declared)| declared.name == step.name)
            .flat_map(|declared| {
                self.candidates(declared).into_iter().filter(move |one| self.is_touched(declared.1, *one))
            })
            .collect();
        Language::known().filter(|language| touched.contains(language)).collect()
    }

    /// The languages that a step runs with if everything has changed.
    fn candidates(&self, (owner, step): Declared) -> Vec<Language> {
        let selected = &self.options.languages;
        match owner {
            Some(owner) if !step.each_language => selected.iter().copied().filter(|one| *one == owner).collect(),
            // Checks of the sources, which need no toolchain.
            None if !step.each_language => Language::known().collect(),
            _ => selected.clone(),
        }
    }

    fn is_touched(&self, step: &Step, language: Language) -> bool {
        let is_read = |path: &String| {
            let mut reads = step.reads.iter().filter(|reads| !reads.is_rule() || !reads::is_description(path));
            reads.any(|reads| reads.has(path, Some(language))) || !Self::is_known(path)
        };
        self.changed.as_ref().is_none_or(|paths| paths.iter().any(is_read))
    }

    /// Returns whether it is declared which steps read a file. Any other file can break everything.
    fn is_known(path: &str) -> bool {
        let has_rule = declared().any(|(owner, step)| {
            let mut languages =
                Language::known().filter(|one| step.each_language || owner.is_none_or(|owner| owner == *one));
            languages.any(|language| step.reads.iter().any(|reads| reads.is_rule() && reads.has(path, Some(language))))
        });
        has_rule || reads::is_unread(path)
    }

    /// Returns whether packages have changed, and nothing that all languages share.
    pub(crate) fn is_of_packages(&self) -> bool {
        let runs =
            |language| SHARED.iter().any(|step| step.each_language && self.languages_of(step).contains(language));
        self.changed.is_some() && !self.options.languages.iter().all(runs)
    }

    /// The half of a language: which of the conformance scenarios it plays in the short form. If
    /// only its package has changed, a half is enough for every language.
    pub(crate) fn half(&self, language: Language) -> Option<usize> {
        language.half.or_else(|| self.is_of_packages().then_some(0))
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
        steps.retain(|step| !self.languages_of(step).is_empty());
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
mod tests;
