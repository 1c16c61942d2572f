//! Options shared by several commands.

use anyhow::{Context, Result, bail};

use crate::language::Language;

#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) languages: Vec<Language>,
    /// Keeps only items with one of these strings in their name; empty for all.
    pub(crate) only: Vec<String>,
    /// Includes what the short form leaves out.
    pub(crate) long: bool,
    /// Shows the time of each step.
    pub(crate) timings: bool,
    /// Puts the bridge between the fixtures and their peer.
    pub(crate) bridge: bool,
    /// Keeps only what differs from a commit, or from the default one.
    pub(crate) changed: Option<Option<String>>,
}

impl Options {
    /// Parses those options that a command supports, out of `--lang`, `--only`, `--long`,
    /// `--timings`, `--bridge` and `--changed`.
    pub(crate) fn parse(options: &[String], known: &[&str]) -> Result<Self> {
        let mut read = Self {
            languages: Language::available().to_vec(),
            only: Vec::new(),
            long: false,
            timings: false,
            bridge: false,
            changed: None,
        };
        let usage = || format!("the options are {}; `cargo xtask help` has their values", known.join(", "));
        let mut options = options.iter().peekable();
        while let Some(option) = options.next().map(String::as_str) {
            if !known.contains(&option) {
                bail!("unknown option {option:?}: {}", usage());
            }
            let takes_value = !matches!(option, "--long" | "--timings" | "--bridge");
            let value = options.next_if(|value| takes_value && !value.starts_with("--"));
            match option {
                "--lang" => read.languages = Language::parse_list(value.with_context(usage)?)?,
                "--only" => read.only = value.with_context(usage)?.split(',').map(str::to_owned).collect(),
                "--changed" => read.changed = Some(value.cloned()),
                "--timings" => read.timings = true,
                "--bridge" => read.bridge = true,
                _ => read.long = true,
            }
        }
        Ok(read)
    }

    /// Returns whether all languages of this machine are selected.
    pub(crate) fn has_all_languages(&self) -> bool {
        Language::available().iter().all(|language| self.languages.contains(language))
    }

    /// Keeps the selected items. Each string must match at least one, because an empty run must not
    /// look like a successful one.
    pub(crate) fn choose<T>(&self, all: &mut Vec<T>, name: impl Fn(&T) -> String) -> Result<()> {
        for word in &self.only {
            if word.is_empty() || !all.iter().any(|one| name(one).contains(word.as_str())) {
                let names: Vec<_> = all.iter().map(&name).collect();
                bail!("--only {word:?} stands in the name of none; there are: {}", names.join(", "));
            }
        }
        all.retain(|one| self.only.is_empty() || self.only.iter().any(|word| name(one).contains(word.as_str())));
        Ok(())
    }
}
