//! The target: which server a command is about.

use crate::{
    failure::Failure,
    flags::{ConnectionFlags, Transport},
    known_servers::{self, KnownServer},
    sessions::Session,
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path};
use trunkline::{
    ChildCommand, HttpEndpoint,
    client::{ServerEntry, ServersConfig},
    transport::{ChildStderr, Target},
};

/// A server to connect to.
#[derive(Clone)]
pub(crate) struct Server {
    /// How the person named it, for messages.
    pub(crate) label: String,
    pub(crate) target: Target,
    /// `stdio` or `http`.
    pub(crate) transport: &'static str,
}

/// Finds the server that a command line names: the command after `--`, that of `--command`, or else
/// the first word. Returns the words that remain.
pub(crate) fn find(
    mut words: Vec<String>,
    after_dashes: Vec<String>,
    flags: &ConnectionFlags,
) -> Result<(Server, Vec<String>), Failure> {
    if !after_dashes.is_empty() {
        return Ok((of_command(after_dashes, flags)?, words));
    }
    if let Some(command) = &flags.command_line {
        return Ok((of_command(split(command)?, flags)?, words));
    }
    if words.is_empty() {
        return Err(Failure::usage("no server is given").hint(
            "name one: a URL, a configured server (`trunkline list` shows them), a FILE or FILE:NAME, or a command after `--`",
        ));
    }
    let word = words.remove(0);
    if let Some((name, member)) = split_member(&word) {
        words.insert(0, member);
        return Ok((named(&name, flags)?, words));
    }
    Ok((of_word(&word, flags)?, words))
}

/// The words of a command line.
pub(crate) fn split(command: &str) -> Result<Vec<String>, Failure> {
    shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
        Failure::usage(format!("--command: {command:?} has an open quote, or is empty"))
            .hint("quote it as in a shell, or put the command after `--`")
    })
}

/// The server that one word names.
fn of_word(word: &str, flags: &ConnectionFlags) -> Result<Server, Failure> {
    if let Some(session) = Session::of_word(word)? {
        if !session.is_open() {
            return Err(session.not_open());
        }
        return Ok(Server { label: session.name.clone(), target: session.url().as_str().into(), transport: "http" });
    }
    if is_url(word) {
        return of_url(word, flags);
    }
    if let Some((path, name)) = file_of(word)? {
        return of_file(word, path, name, flags);
    }
    named(word, flags)
}

pub(crate) fn is_url(word: &str) -> bool {
    word.contains("://") || word.starts_with("unix:")
}

/// The configuration file of a word, and the name after it.
pub(crate) fn file_of(word: &str) -> Result<Option<(&Path, Option<&str>)>, Failure> {
    let split = word.rsplit_once(':').filter(|(path, _)| Path::new(path).exists());
    let (path, name) = match split {
        // A drive letter of Windows is no path of a file.
        Some((path, name)) if !Path::new(word).exists() => (Path::new(path), Some(name)),
        _ => (Path::new(word), None),
    };
    if path.is_dir() {
        let message = format!("{} is a folder, not a configuration file", path.display());
        return Err(Failure::usage(message).hint("name the file in it, such as mcp.json"));
    }
    let is_named_like_one = word.contains(['/', '\\']) || word.ends_with(".json");
    let is_file = path.exists() || (is_named_like_one && !is_address(word));
    Ok(is_file.then_some((path, name)))
}

/// Returns whether a word looks like a URL without its scheme.
fn is_address(word: &str) -> bool {
    let has_port = word.split_once(':').is_some_and(|(_, rest)| rest.starts_with(|first: char| first.is_ascii_digit()));
    let host = word.split(['/', ':']).next().unwrap_or_default();
    has_port || (host.contains('.') && !host.starts_with('.') && !word.ends_with(".json"))
}

fn of_command(command: Vec<String>, flags: &ConnectionFlags) -> Result<Server, Failure> {
    let label = command.join(" ");
    let child = ChildCommand::new(command)
        .with_env(flags.process_variables()?.into_iter().collect::<BTreeMap<_, _>>())
        .with_inherit_env(flags.inherit_env)
        .with_cwd(flags.cwd.clone())
        .with_stderr(ChildStderr::Keep);
    Ok(Server { label, target: child.into(), transport: "stdio" })
}

fn of_url(url: &str, flags: &ConnectionFlags) -> Result<Server, Failure> {
    check_encrypted(url, flags)?;
    // The library replaces the placeholders in headers.
    let headers: Map<String, Value> =
        flags.all_headers()?.into_iter().map(|(name, value)| (name, value.into())).collect();
    let mut entry = json!({"url": url, "headers": headers});
    if flags.transport == Transport::Sse {
        entry["type"] = "sse".into();
    }
    let entry = ServersConfig::read_one(&entry, "the command line", &|name| std::env::var(name).ok())
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Server { label: url.to_owned(), target: entry.into(), transport: "http" })
}

/// Refuses to send anything unencrypted to another machine.
fn check_encrypted(url: &str, flags: &ConnectionFlags) -> Result<(), Failure> {
    if url.starts_with("https:") || HttpEndpoint::new(url).is_local() || flags.allow_http {
        return Ok(());
    }
    let message = format!("{url} is not encrypted, and not on this machine");
    Err(Failure::usage(message).hint("use https://, or --allow-http if you trust the network"))
}

/// A server of a file: the only one, or the one of that name.
fn of_file(label: &str, path: &Path, name: Option<&str>, flags: &ConnectionFlags) -> Result<Server, Failure> {
    let config = ServersConfig::from_file(path).map_err(|error| Failure::usage(error.to_string()))?;
    let names: Vec<String> = config.servers().map(|(name, _)| name.to_owned()).collect();
    let wanted = chosen(path, name, &names)?;
    let found = config.into_iter().find(|(name, _)| *name == wanted).map(|(_, entry)| entry);
    let entry = found.ok_or_else(|| Failure::usage(format!("{} has no server {wanted:?}", path.display())))?;
    of_entry(label, entry.map_err(|error| Failure::usage(error.to_string()))?, flags)
}

/// All servers of a file.
pub(crate) fn in_file(path: &Path, flags: &ConnectionFlags) -> Result<Vec<Server>, Failure> {
    let config = ServersConfig::from_file(path).map_err(|error| Failure::usage(error.to_string()))?;
    let mut servers = Vec::new();
    for (name, entry) in config {
        servers.push(of_entry(&name, entry.map_err(|error| Failure::usage(error.to_string()))?, flags)?);
    }
    if servers.is_empty() {
        return Err(Failure::usage(format!("{} names no server", path.display())));
    }
    Ok(servers)
}

/// The name of a server of a file: the one that is wanted, or the only one.
pub(crate) fn chosen(path: &Path, wanted: Option<&str>, names: &[String]) -> Result<String, Failure> {
    match (wanted, names) {
        (Some(wanted), _) if names.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
        (Some(wanted), _) => Err(Failure::usage(format!("{} has no server {wanted:?}", path.display()))
            .hint(format!("it has {}", names.join(", ")))),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Failure::usage(format!("{} names no server", path.display()))),
        (None, _) => {
            let message = format!("{} names {} servers", path.display(), names.len());
            Err(Failure::usage(message).hint(format!("add one: {}:{}", path.display(), names.join(", :"))))
        }
    }
}

/// A server that is configured for some host, by its name.
fn named(word: &str, flags: &ConnectionFlags) -> Result<Server, Failure> {
    of_known(&configured(word)?, flags)
}

/// A configured server.
pub(crate) fn of_known(known: &KnownServer, flags: &ConnectionFlags) -> Result<Server, Failure> {
    let label = format!("{}:{}", known.host, known.name);
    of_entry(&label, known.entry.clone().map_err(|error| Failure::usage(error.to_string()))?, flags)
}

/// The configured server of a name, or of `host:name`.
pub(crate) fn configured(word: &str) -> Result<KnownServer, Failure> {
    let mut all = known_servers::all();
    let (host, name) = word.split_once(':').map_or((None, word), |(host, name)| (Some(host), name));
    let is_it = |known: &KnownServer| known.name == name && host.is_none_or(|host| known.host == host);
    let matching: Vec<usize> = (0..all.len()).filter(|index| is_it(&all[*index])).collect();
    match matching[..] {
        [index] => Ok(all.swap_remove(index)),
        [] => Err(unknown(word, &all)),
        _ => {
            let names: Vec<_> =
                matching.iter().map(|index| format!("{}:{}", all[*index].host, all[*index].name)).collect();
            Err(Failure::usage(format!("{word:?} is configured more than once"))
                .hint(format!("name one: {}", names.join(", "))))
        }
    }
}

fn unknown(word: &str, all: &[KnownServer]) -> Failure {
    let failure = Failure::usage(format!("{word:?} is neither a URL, a file, nor the name of a configured server"));
    let near = crate::failure::nearest(word, all.iter().map(|known| known.name.as_str()));
    match near.is_empty() {
        _ if word.starts_with("localhost") || word.starts_with("127.") => {
            failure.hint(format!("did you mean http://{word}?"))
        }
        true if is_address(word) => failure.hint(format!("did you mean https://{word}?")),
        true => failure.hint("`trunkline list` shows the configured servers; put a command after `--`"),
        false => failure.hint(format!("did you mean {}?", near.join(", "))),
    }
}

/// `server.tool`, as mcporter writes it: only if the part before the dot is a configured server and
/// the whole is not.
fn split_member(word: &str) -> Option<(String, String)> {
    if is_url(word) || word.starts_with('@') || Path::new(word).exists() {
        return None;
    }
    let (name, member) = word.split_once('.').filter(|(name, member)| !name.is_empty() && !member.is_empty())?;
    let all = known_servers::all();
    let is_known = |wanted: &str| all.iter().any(|known| known.name == wanted);
    (is_known(name) && !is_known(word)).then(|| (name.to_owned(), member.to_owned()))
}

/// An entry of a configuration, with what the flags add to it.
fn of_entry(label: &str, entry: ServerEntry, flags: &ConnectionFlags) -> Result<Server, Failure> {
    let transport = if matches!(entry, ServerEntry::Url { .. }) { "http" } else { "stdio" };
    if let ServerEntry::Url { url, .. } = &entry {
        check_encrypted(url, flags)?;
    }
    Ok(Server { label: label.to_owned(), target: entry.into(), transport })
}
