//! The options that commands share.

use anyhow::{Context, Result, bail};

use crate::language::Language;

pub(crate) struct Options {
    pub(crate) languages: Vec<Language>,
    /// Words of which one stands in the name of each chosen thing; empty: all.
    pub(crate) only: Vec<String>,
    /// What takes long, too.
    pub(crate) long: bool,
    /// What differs from a commit, or from the usual one.
    pub(crate) changed: Option<Option<String>>,
}

impl Options {
    /// Reads those that a command knows: of `--lang`, `--only`, `--long` and `--changed`.
    pub(crate) fn parse(options: &[String], known: &[&str]) -> Result<Self> {
        let mut read = Self { languages: Language::ALL.to_vec(), only: Vec::new(), long: false, changed: None };
        let usage = || format!("the options are {}; `cargo xtask help` has their values", known.join(", "));
        let mut options = options.iter().peekable();
        while let Some(option) = options.next().map(String::as_str) {
            if !known.contains(&option) {
                bail!("unknown option {option:?}: {}", usage());
            }
            let value = options.next_if(|value| !value.starts_with("--") && option != "--long");
            match option {
                "--lang" => read.languages = Language::parse_list(value.with_context(usage)?)?,
                "--only" => read.only = value.with_context(usage)?.split(',').map(str::to_owned).collect(),
                "--changed" => read.changed = Some(value.cloned()),
                _ => read.long = true,
            }
        }
        Ok(read)
    }

    pub(crate) fn has_all_languages(&self) -> bool {
        Language::ALL.iter().all(|language| self.languages.contains(language))
    }

    /// Keeps what the words choose. Each must find something: a run of nothing must not look like
    /// one that passed.
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
