//! Completion in a shell: servers, tools, and the names of their arguments. It starts no server and
//! opens no connection: tools are those of the last list, if that is recent.

use crate::{flags::ConnectionFlags, known_servers, sessions, target};
use clap::{Command, FromArgMatches as _, builder::StyledStr};
use clap_complete::{CompleteEnv, CompletionCandidate};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{env, ffi::OsStr, fs, io, path::PathBuf, sync::OnceLock, time::Duration};
use trunkline::protocol::{model::Tool, schema::describe_arguments};

/// The variable that names the shell.
pub(crate) const VARIABLE: &str = "TRUNKLINE_COMPLETE";
/// How long a list of tools is used.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// Longer lists are not kept.
const MAX_TOOLS: usize = 1_000;

/// Makes the command line of the program, whose words the completion reads.
static PROGRAM: OnceLock<fn() -> Command> = OnceLock::new();

/// Answers, and ends the process, if a shell asks for completions.
pub(crate) fn answer(program: fn() -> Command) {
    CompleteEnv::with_factory(PROGRAM.get_or_init(|| program)).var(VARIABLE).complete();
}

/// A tool that was listed.
#[derive(Serialize, Deserialize)]
struct Listed {
    name: String,
    about: String,
    /// The names of its arguments and their types.
    arguments: Vec<(String, String)>,
}

/// Keeps a list of tools. Completion is a convenience, so that a failure is none.
pub(crate) fn keep(label: &str, tools: &[Tool]) {
    let listed = |tool: &Tool| Listed {
        name: tool.name.clone(),
        about: tool.description.as_deref().unwrap_or_default().lines().next().unwrap_or_default().to_owned(),
        arguments: describe_arguments(&tool.input_schema).into_iter().map(|one| (one.name, one.kind)).collect(),
    };
    // A name with a blank or a control character is more than one word of a shell.
    let is_word = |tool: &&Tool| tool.name.chars().all(|letter| !letter.is_whitespace() && !letter.is_control());
    let listed: Vec<_> = tools.iter().filter(is_word).take(MAX_TOOLS).map(listed).collect();
    if let Some(path) = path_of(label) {
        let _ = serde_json::to_string(&listed).map(|text| write(path, &text));
    }
}

fn write(path: PathBuf, text: &str) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    let mut options = fs::File::options();
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    builder.recursive(true).create(path.parent().unwrap_or(&path))?;
    // Readers see the old list or the new one.
    let new = path.with_extension(std::process::id().to_string());
    io::Write::write_all(&mut options.write(true).create(true).truncate(true).open(&new)?, text.as_bytes())?;
    fs::rename(new, path)
}

/// The file with the tools of a server.
fn path_of(label: &str) -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = match variable("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        Some(base) => base,
        None if cfg!(windows) => variable("LOCALAPPDATA")?,
        None => variable("HOME")?.join(".cache"),
    };
    let name: String = Sha256::digest(label).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Some(base.join("trunkline/lists").join(name + ".json"))
}

fn kept(label: &str) -> Option<Vec<Listed>> {
    let path = path_of(label)?;
    let age = path.metadata().ok()?.modified().ok()?.elapsed().ok()?;
    (age < MAX_AGE).then(|| serde_json::from_str(&fs::read_to_string(path).ok()?).ok())?
}

/// A server.
pub(crate) fn servers(current: &OsStr) -> Vec<CompletionCandidate> {
    let known = known_servers::all();
    let count = |name: &str| known.iter().filter(|other| other.name == name).count();
    let named = known.iter().map(|one| match count(&one.name) {
        1 => one.name.clone(),
        _ => format!("{}:{}", one.host, one.name),
    });
    starting(current, named.chain(sessions::open()).map(|name| (name, String::new())))
}

/// A server, then a tool, then the names of its arguments.
pub(crate) fn calls(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some((words, command, flags)) = given() else { return Vec::new() };
    let has_server = !command.is_empty() || flags.command_line.is_some();
    if words.is_empty() && !has_server {
        return servers(current);
    }
    let Ok((server, words)) = target::find(words, command, &flags) else { return Vec::new() };
    let Some(tools) = kept(&server.label) else { return Vec::new() };
    let Some((tool, given)) = words.split_first() else {
        return starting(current, tools.into_iter().map(|tool| (tool.name, tool.about)));
    };
    let Some(tool) = tools.into_iter().find(|one| one.name == *tool) else { return Vec::new() };
    let is_given = |name: &str| given.iter().any(|word| word.split(['=', ':']).next() == Some(name));
    let arguments = tool.arguments.into_iter().filter(|(name, _)| !is_given(name));
    starting(current, arguments.map(|(name, kind)| (name + "=", kind)))
}

fn starting(current: &OsStr, words: impl IntoIterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let starting = words.into_iter().filter(|(word, _)| word.starts_with(&*current));
    let candidate = |(word, about): (String, String)| {
        let about = (!about.is_empty()).then(|| StyledStr::from(trunkline::printable(&about).to_string()));
        CompletionCandidate::new(word).help(about)
    };
    starting.map(candidate).collect()
}

/// The command line before the current word: the words, the command after `--`, and the flags.
fn given() -> Option<(Vec<String>, Vec<String>, ConnectionFlags)> {
    let line: Vec<String> = env::args().skip_while(|word| word != "--").skip(1).collect();
    let index = env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    let index = index.unwrap_or(line.len().saturating_sub(1)).min(line.len());
    let (before, after) = line.split_at(index);
    // The rest of a word that bash has split, such as the value of an argument.
    if before.last().is_some_and(|word| is_mark(word)) {
        return None;
    }
    let command = after.iter().position(|word| word == "--").map(|at| after[at..].to_vec()).unwrap_or_default();
    let words = joined(before).into_iter().chain(joined(&command));
    let matches = PROGRAM.get()?().ignore_errors(true).try_get_matches_from(words).ok()?;
    let (_, matches) = matches.subcommand()?;
    let many = |name: &str| -> Vec<String> {
        matches.try_get_many::<String>(name).ok().flatten().into_iter().flatten().cloned().collect()
    };
    let flags = ConnectionFlags::from_arg_matches(matches).ok()?;
    Some((many("words"), many("command"), flags))
}

/// The words of a line that bash has split at `:` and `=` as well.
fn joined(words: &[String]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut goes_on = false;
    for word in words {
        match whole.last_mut().filter(|_| goes_on || is_mark(word)) {
            Some(last) => last.push_str(word),
            None => whole.push(word.clone()),
        }
        goes_on = is_mark(word);
    }
    whole
}

fn is_mark(word: &str) -> bool {
    matches!(word, ":" | "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_bash_has_split_are_joined() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let split = words("trunkline call https : //x.example : 8000/mcp echo a = b --era = modern c");
        assert_eq!(joined(&split), words("trunkline call https://x.example:8000/mcp echo a=b --era=modern c"));
    }
}
