//! `trunkline install`: enters a server into the files of hosts.

mod places;
mod source;

pub(crate) use places::{PlaceFlags, looked_for};

use crate::{
    changes::{self, Change, shown},
    edit::{Format, Place},
    exit::Exit,
    failure::Failure,
    flags::Transport,
    hosts::{File, Scope, Server, Writer},
    known_servers::text_of,
    output::Output,
    secrets,
};
use clap::Args;
use serde_json::{Value, json};

/// Enter a server into the files of hosts.
///
/// The change is shown first. A backup of the file is beside it, with the ending `.trunkline-bak`.
#[derive(Args)]
#[command(override_usage = "trunkline install [OPTIONS] [SERVER] [-- COMMAND...]")]
#[command(after_help = "\
Examples:
  trunkline install --host cursor --name weather -- uvx weather-mcp
  trunkline install --host codex --name notes https://mcp.example.com/mcp --bearer-env NOTES_TOKEN
  trunkline install --host vscode --scope project cursor:github")]
pub(crate) struct Install {
    /// The server, unless a command follows `--`: a URL, a configured server, a file, or FILE:NAME.
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    #[command(flatten)]
    places: PlaceFlags,
    /// For all projects of this user, or for the project in this folder.
    #[arg(long, default_value = "user")]
    scope: Scope,
    /// The name of the entry; that of a configured server by default.
    #[arg(long)]
    name: Option<String>,
    /// An environment variable of the server's process: NAME is a reference, which the host
    /// replaces. Repeatable.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    variables: Vec<String>,
    /// A header of each HTTP request: `Name: value`, where `${VARIABLE}` is a reference.
    /// Repeatable.
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Send the access token that this environment variable of the host has.
    #[arg(long, value_name = "VARIABLE")]
    bearer_env: Option<String>,
    /// How to speak over HTTP: detected (`auto`), or the older HTTP+SSE (`sse`).
    #[arg(long, default_value = "auto", hide_possible_values = true)]
    transport: Transport,
    /// Copy the values of variables and secrets into the file, instead of references.
    #[arg(long)]
    literal: bool,
    /// Write without a question.
    #[arg(long, short)]
    yes: bool,
    /// Replace another entry of that name, and write for a host that was not found.
    #[arg(long)]
    force: bool,
    /// The server's command; split as a shell would, but not run by one.
    #[arg(long = "command", value_name = "COMMAND")]
    command_line: Option<String>,
    /// The command of the server.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    command: Vec<String>,
}

impl Install {
    pub(crate) async fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (given, server) = self.source()?;
        let name = self
            .name
            .clone()
            .or(given)
            .ok_or_else(|| Failure::usage("the entry needs a name").hint("--name weather"))?;
        check_name(&name)?;
        let files = self.places.files_to_write(self.scope, self.force)?;
        let changes: Vec<Change> =
            files.into_iter().map(|file| self.change(file, &name, &server)).collect::<Result<_, _>>()?;
        let mut replaced = changes.iter().filter(|change| change.what == "replaced" && change.old != change.new);
        if let Some(change) = replaced.next().filter(|_| !self.force) {
            if !output.json {
                change.print(output);
            }
            return Err(Failure::usage(format!("{} has another {name:?}", shown(&change.file.path)))
                .tried("nothing was written")
                .hint("replace it with --force, or give another --name"));
        }
        changes::make(changes, self.yes, output).await
    }

    /// The change of one file.
    fn change(&self, file: File, name: &str, server: &Server) -> Result<Change, Failure> {
        let program =
            std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_else(|_| "trunkline".to_owned());
        let variable = |name: &str| std::env::var(name).ok();
        let writer = Writer { host: file.host, literal: self.literal, variable: &variable, program: &program };
        let entry = writer.entry(server)?;
        if file.host.format == Format::Yaml {
            return Err(by_hand(&file, name, &entry));
        }
        let old = text_of(&file.path).map_err(|error| unreadable(&file, &error.to_string()))?;
        let text = old.as_deref().unwrap_or_default();
        let (place, value) = read(&file, text)?;
        let existing = place.servers(&value).and_then(|servers| servers.get(name));
        let what = if existing.is_some() { "replaced" } else { "added" };
        let new = match existing {
            Some(existing) if *existing == entry => old.clone(),
            _ => Some(place.set(text, name, &entry).map_err(|problem| unreadable(&file, &problem.to_string()))?),
        };
        let mut secrets = secrets::of_entry(&entry);
        secrets.extend(existing.map(secrets::of_entry).unwrap_or_default());
        Ok(Change { what, old, new, secrets, restores: false, name: name.to_owned(), file })
    }
}

/// Reads the file of a host.
pub(crate) fn read(file: &File, text: &str) -> Result<(Place, Value), Failure> {
    let place = Place { format: file.host.format, key: file.host.key };
    let value = crate::edit::read(place.format, text).map_err(|problem| unreadable(file, &problem.to_string()))?;
    Ok((place, value))
}

pub(crate) fn unreadable(file: &File, problem: &str) -> Failure {
    Failure::usage(format!("{}: {problem}", shown(&file.path)))
        .tried("nothing was written")
        .hint("correct the file, or edit it by hand")
}

/// The failure for a file that is not edited, with what to add.
fn by_hand(file: &File, name: &str, entry: &Value) -> Failure {
    // JSON on one line is YAML.
    let line = json!({ name: entry }).to_string();
    let line = line.trim_start_matches('{').trim_end_matches('}');
    let closing = "}".repeat(line.matches('{').count() - line.matches('}').count());
    let message =
        format!("the file of {} is YAML, which is not edited: its comments and layout would be lost", file.host.title);
    Failure::usage(message).tried("nothing was written").hint(format!(
        "add this line below `{}:` in {}:\n  {line}{closing}",
        file.host.key.join("."),
        shown(&file.path)
    ))
}

/// Names that all hosts take.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-".contains(sign);
    match (1..=64).contains(&name.len()) && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(Failure::usage(format!("{name:?} is no name for all hosts"))
            .hint("use up to 64 letters, digits, - and _: --name weather")),
    }
}
