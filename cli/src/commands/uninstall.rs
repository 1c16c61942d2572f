//! `trunkline uninstall`: removes a server from the files of hosts.

use super::install::{PlaceFlags, looked_for, read, unreadable};
use crate::{
    changes::{self, Change, shown},
    edit::{Format, Place},
    exit::Exit,
    failure::{Failure, nearest},
    hosts::{File, Machine, Scope},
    known_servers::text_of,
    output::Output,
    replace_file::backup_of,
    secrets,
};
use clap::Args;
use serde_json::Value;

/// Remove a server from the files of hosts.
///
/// The change is shown first. A file that is still as `install` wrote it becomes what it was
/// before.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline uninstall weather
  trunkline uninstall --host cursor --scope project weather")]
pub(crate) struct Uninstall {
    /// The name of the server.
    name: String,
    #[command(flatten)]
    places: PlaceFlags,
    /// Only entries for all projects of this user, or for the project in this folder.
    #[arg(long)]
    scope: Option<Scope>,
    /// Write without a question.
    #[arg(long, short)]
    yes: bool,
}

/// The file of an entry, the text of the file, and the entry.
type Entry = (File, String, Value);

impl Uninstall {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (files, entries) = self.files()?;
        if entries.is_empty() {
            return Err(self.missing(&files));
        }
        if entries.len() > 1 && self.places.hosts.is_empty() {
            let flags = |file: &File| format!("--host {} --scope {}", file.host.name, file.scope.name());
            let flags: Vec<_> = entries.iter().map(|(file, ..)| flags(file)).collect();
            return Err(Failure::usage(format!("several files have {:?}", self.name))
                .hint(format!("name one: {}", flags.join(", or "))));
        }
        let changes = entries.into_iter().map(|(file, text, entry)| self.change(file, text, &entry));
        changes::make(changes.collect::<Result<_, _>>()?, self.yes, output).await
    }

    /// The files of the hosts, and the entries of that name.
    fn files(&self) -> Result<(Vec<File>, Vec<Entry>), Failure> {
        let is_wanted = |file: &File| {
            let hosts = &self.places.hosts;
            (hosts.is_empty() || hosts.iter().any(|host| host == file.host.name))
                && self.scope.is_none_or(|scope| scope == file.scope)
        };
        let files: Vec<File> = Machine::this().all_files().into_iter().filter(is_wanted).collect();
        let mut entries = Vec::new();
        for file in &files {
            let text = text_of(&file.path).map_err(|error| unreadable(file, &error.to_string()))?;
            let Some(text) = text else { continue };
            // Of all hosts, only the files that can be read count.
            let (place, value) = match read(file, &text) {
                Err(_) if self.places.hosts.is_empty() => continue,
                read => read?,
            };
            if let Some(entry) = place.servers(&value).and_then(|servers| servers.get(&self.name)) {
                entries.push((file.clone(), text, entry.clone()));
            }
        }
        Ok((files, entries))
    }

    fn missing(&self, files: &[File]) -> Failure {
        let failure = Failure::usage(format!("no file has a server {:?}", self.name)).tried(looked_for(files));
        let known = crate::known_servers::everything().0;
        match nearest(&self.name, known.iter().map(|known| known.name.as_str())) {
            near if near.is_empty() => failure.hint("`trunkline discover` shows the servers"),
            near => failure.hint(format!("did you mean {}?", near.join(", "))),
        }
    }

    fn change(&self, file: File, text: String, entry: &Value) -> Result<Change, Failure> {
        if file.host.format == Format::Yaml {
            let message = format!(
                "the file of {} is YAML, which is not edited: its comments and layout would be lost",
                file.host.title
            );
            let hint = format!("remove {:?} below `{}:` in {}", self.name, file.host.key.join("."), shown(&file.path));
            return Err(Failure::usage(message).tried("nothing was written").hint(hint));
        }
        let place = Place { format: file.host.format, key: file.host.key };
        let backup = text_of(&backup_of(&file.path)).ok().flatten();
        // The text before the installation, if nothing else has changed since.
        let is_before = |before: &str| {
            let value = crate::edit::read(place.format, before).unwrap_or_default();
            let had_it = place.servers(&value).is_some_and(|servers| servers.contains_key(&self.name));
            !had_it && place.set(before, &self.name, entry).as_deref() == Ok(&*text)
        };
        let (new, restores) = match &backup {
            Some(before) if is_before(before) => (Some(before.clone()), true),
            None if is_before("") => (None, false),
            _ => {
                let removed = place.remove(&text, &self.name);
                (Some(removed.map_err(|problem| unreadable(&file, &problem.to_string()))?), false)
            }
        };
        let secrets = secrets::of_entry(entry);
        Ok(Change { what: "removed", name: self.name.clone(), old: Some(text), new, secrets, restores, file })
    }
}
