//! Changes of hosts' files: shown first, then written if the person agrees.

use crate::{
    exit::Exit,
    failure::Failure,
    hosts::{File, Machine},
    output::{BOLD, DIM, Output},
    person,
    replace_file::{backup_of, remove_backup, replace},
    secrets::{Secret, without},
};
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use similar::{
    ChangeTag, DiffOp,
    algorithms::{Capture, Compact, Replace, myers},
};
use std::{
    io::{self, BufRead, Write},
    path::Path,
};
use trunkline::{printable, protocol::RawJson};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// A change of one file.
pub(crate) struct Change {
    pub(crate) file: File,
    /// The entry.
    pub(crate) name: String,
    /// The fate of the entry: `added`, `replaced` or `removed`.
    pub(crate) what: &'static str,
    /// The text of the file; `None` if there is none.
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    /// Secrets that are not shown.
    pub(crate) secrets: Vec<Secret>,
    /// The file is as it was before an installation: its backup goes.
    pub(crate) restores: bool,
}

impl Change {
    fn is_none(&self) -> bool {
        self.old == self.new
    }

    /// The lines that change, and what happens to the rest.
    pub(crate) fn print(&self, output: &Output) {
        let path = shown(&self.file.path);
        let note = match (&self.old, &self.new) {
            _ if self.is_none() => format!("{} is there already", self.name),
            (None, _) => "new".to_owned(),
            (_, None) => "removed, as nothing else is in it".to_owned(),
            _ if self.restores => "as before the installation, byte for byte".to_owned(),
            _ => format!("the rest is kept as it is; backup {}", shown_name(&backup_of(&self.file.path))),
        };
        output.line(&format!("{BOLD}{path}{BOLD:#}  {DIM}{}: {note}{DIM:#}", self.file.host.title));
        let (old, new) = (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default());
        let lines = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        for change in
            differences(&lines[0], &lines[1]).iter().flat_map(|found| found.iter_changes(&lines[0], &lines[1]))
        {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => continue,
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
            };
            let line = printable(&without(change.value().trim_end_matches(['\r', '\n']), &self.secrets));
            output.line(format!("{style}{sign} {line}{style:#}").trim_end());
        }
    }

    fn to_json(&self) -> Value {
        let backup = Some(backup_of(&self.file.path)).filter(|_| self.old.is_some() && self.new.is_some());
        json!({
            "host": self.file.host.name,
            "scope": self.file.scope.name(),
            "file": self.file.path,
            "name": self.name,
            "entry": if self.is_none() { "unchanged" } else { self.what },
            "backup": backup.filter(|_| !self.is_none() && !self.restores),
        })
    }
}

/// The lines that differ. By the algorithm itself: `TextDiff` would compile six.
fn differences(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff_deadline_raw(&mut found, old, 0..old.len(), new, 0..new.len(), None);
    found.into_inner().into_inner().into_ops()
}

/// Shows changes, asks unless `yes`, and writes them.
pub(crate) async fn make(changes: Vec<Change>, yes: bool, output: &Output) -> Result<Exit, Failure> {
    if !output.json {
        changes.iter().for_each(|change| change.print(output));
    }
    let all_are_there = changes.iter().all(Change::is_none);
    if !all_are_there && !yes && !agreed().await? {
        output.note("nothing was written");
        return Ok(Exit::Done);
    }
    for change in changes.iter().filter(|change| !change.is_none()) {
        replace(&change.file.path, change.old.as_deref(), change.new.as_deref())?;
        if change.restores {
            remove_backup(&change.file.path);
        }
    }
    if output.json {
        let changes: Vec<Value> = changes.iter().map(Change::to_json).collect();
        output.raw(&RawJson::from_value(&json!({"changes": changes})).unwrap_or_else(|_| RawJson::empty_object()));
    }
    Ok(Exit::Done)
}

/// Asks the person at the terminal.
async fn agreed() -> Result<bool, Failure> {
    if !person::is_present() || !io::IsTerminal::is_terminal(&io::stdin()) {
        let failure = Failure::new(Exit::Person, "person", "nobody can be asked: there is no terminal");
        return Err(failure
            .tried("showing the changes; nothing was written")
            .hint("--yes writes them without a question"));
    }
    let answer = tokio::task::spawn_blocking(|| {
        let _ = write!(io::stderr(), "write? [y/N] ").and_then(|()| io::stderr().flush());
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map(|_| answer)
    });
    let answer = answer.await.ok().and_then(Result::ok).unwrap_or_default();
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// A path with `~` for the user's folder.
pub(crate) fn shown(path: &Path) -> String {
    let in_home = Machine::this().home().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    let text = match in_home {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.display().to_string(),
    };
    printable(&text)
}

fn shown_name(path: &Path) -> String {
    printable(&path.file_name().unwrap_or_default().to_string_lossy())
}
