//! The command of a child process, and why it could not be run.

use crate::printable::printable;
use crate::protocol::options::Required;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// Maximum bytes of a command shown in errors.
const MAX_DISPLAY: usize = 200;

trunkline_proto::options! {
    /// A program that serves the protocol on its stdin and stdout.
    ///
    /// It runs in its own process group (Windows: a job), which ends with the client. If this
    /// process is killed, or exits without closing the client, the stdin of the server ends, and
    /// the server must exit. On Unix, what is left of the group is terminated two seconds later,
    /// and killed after two more, by a shell that watches this process (`/bin/sh`, if there is
    /// one); on Windows, the job kills it immediately. Descendants that leave the group (`setsid`)
    /// are not affected.
    ///
    /// ```no_run
    /// use trunkline::{ChildCommand, Client};
    ///
    /// # async fn run() -> Result<(), trunkline::ClientError> {
    /// let command = ChildCommand::new(["uvx", "mcp-server-git"])
    ///     .with_env([("GIT_DIR".to_owned(), "/srv/notes.git".to_owned())])
    ///     .with_cwd(Some("/srv".into()));
    /// let client = Client::connect(command).await?;
    /// # client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Clone)]
    pub struct ChildCommand {
        /// The program and its arguments. No shell interprets them.
        @each(String) command: Vec<String> => "command" as Required = Vec::new(),
        /// Additional environment variables for the child process.
        @into env: BTreeMap<String, String> => "env" = BTreeMap::new(),
        /// `true` to inherit the whole environment of this process, including secrets; otherwise
        /// the child inherits only `HOME`, `LANG`, `LANGUAGE`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`,
        /// `TERM`, `TZ` and `USER`, or on Windows the variables that programs need there.
        inherit_env: bool => "inheritEnv" = false,
        /// The working directory of the child process; by default, that of this process.
        @into cwd: Option<PathBuf> => "cwd" = None,
        /// Where its stderr goes: to the stderr of this process (`inherit`), only into error
        /// messages, which contain the last lines (`keep`), or nowhere (`discard`).
        stderr: ChildStderr => "stderr" = ChildStderr::PassThrough,
        /// A file to append its stderr to, instead of the stderr of this process; created if
        /// missing. On systems with `/dev/fd`, `/dev/fd/3` is descriptor 3 of this process. The
        /// last lines are also captured for error messages.
        @into stderr_file: Option<PathBuf> => "stderrFile" = None,
    }
}

trunkline_proto::json_names! {
    /// Where the stderr of a child process goes.
    pub enum ChildStderr, by default PassThrough, non_exhaustive {
        /// Copied to the stderr of this process; the last lines are captured for error messages.
        PassThrough = "inherit",
        /// Only the last lines are captured: 20 of at most 1,000 bytes each.
        Keep = "keep",
        /// Discarded; error messages don't contain it.
        Discard = "discard",
    }
}

/// A child process that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the server process {program}: {reason}")]
pub struct SpawnError {
    program: String,
    reason: String,
    #[source]
    source: Option<io::Error>,
}

impl ChildCommand {
    /// A program and its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    pub(super) fn to_tokio(&self) -> Result<tokio::process::Command, SpawnError> {
        let Some((program, arguments)) = self.command.split_first().filter(|(program, _)| !program.is_empty()) else {
            return Err(self.error("the command is empty; it needs a program, then its arguments", None));
        };
        let mut command = tokio::process::Command::new(resolved(program, &self.env));
        command.args(arguments);
        if !self.inherit_env {
            command.env_clear().envs(inherited(|name| std::env::var_os(name)));
        }
        command.envs(&self.env);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        Ok(command)
    }

    /// The file for its stderr, opened.
    pub(super) fn open_stderr_file(&self) -> Result<Option<File>, SpawnError> {
        let Some(path) = &self.stderr_file else { return Ok(None) };
        if self.stderr != ChildStderr::PassThrough {
            return Err(
                self.error("the file for its standard error cannot be combined with the option stderr, which captures or discards it: set only one", None)
            );
        }
        let opened = File::options().append(true).create(true).open(path);
        opened.map(Some).map_err(|error| {
            self.error(
                &format!("the file for its standard error, {}, cannot be opened: {error}", path.display()),
                Some(error),
            )
        })
    }

    /// Explains what to check if the system refused to start the program.
    pub(super) fn refused(&self, error: io::Error) -> SpawnError {
        let program = self.program();
        let reason = match (&self.cwd, error.kind()) {
            (Some(folder), _) if !folder.is_dir() => format!("there is no directory {}", folder.display()),
            (_, io::ErrorKind::NotFound) if self.command.len() == 1 && program.trim().contains(' ') => {
                "there is no such program; put the arguments in `args` of an entry, or in the command list as separate items"
                    .to_owned()
            }
            (_, io::ErrorKind::NotFound) if Path::new(program).components().count() > 1 => {
                "there is no such file, or the interpreter in its first line is missing".to_owned()
            }
            (_, io::ErrorKind::NotFound) => {
                "no such program on the PATH; check the spelling, or give the full path".to_owned()
            }
            (_, io::ErrorKind::PermissionDenied) => "it is not an executable file, or permission is denied".to_owned(),
            _ => error.to_string(),
        };
        self.error(&reason, Some(error))
    }

    pub(super) fn error(&self, reason: &str, source: Option<io::Error>) -> SpawnError {
        SpawnError { program: format!("\"{}\"", self.display()), reason: reason.to_owned(), source }
    }

    pub(super) fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// The command for errors and logs: its first arguments, without those that may be secrets.
    pub(in crate::transport) fn display(&self) -> String {
        let mut display = self.program().to_owned();
        let mut was_secret_option = false;
        for word in self.command.iter().skip(1) {
            let (option, value) = word
                .split_once('=')
                .filter(|(option, _)| !option.contains("://"))
                .map_or((&**word, None), |(option, value)| (option, Some(value)));
            let names_secret = is_secret_name(option);
            let part = match value {
                _ if std::mem::take(&mut was_secret_option) || is_secret(value.unwrap_or(word)) && value.is_none() => {
                    "…"
                }
                Some(value) if names_secret || is_secret(value) => &format!("{option}=…"),
                _ => word,
            };
            was_secret_option = names_secret && value.is_none() && word.starts_with('-');
            if display.len() + part.len() >= MAX_DISPLAY {
                display += " …";
                break;
            }
            display = display + " " + part;
        }
        printable(&display)
    }
}

/// Returns whether the value of an option or variable of that name may be a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "pass", "auth", "cred", "header", "cookie"].iter().any(|word| name.contains(word))
}

/// Returns whether an argument looks like a secret: a URL with a user, or a long string of letters
/// and digits that is not a path.
fn is_secret(word: &str) -> bool {
    let is_opaque = word.len() >= 16 && !word.contains(['/', '\\', '.', ' ', ':', '@']);
    word.contains("://") && word.contains(['@', '?']) || is_opaque && word.contains(|sign: char| sign.is_ascii_digit())
}

impl fmt::Debug for ChildCommand {
    /// Lists the variables without their values, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<_> = self.env.keys().collect();
        f.debug_struct("ChildCommand")
            .field("command", &self.command)
            .field("env", &variables)
            .field("inherit_env", &self.inherit_env)
            .field("cwd", &self.cwd)
            .field("stderr", &self.stderr)
            .field("stderr_file", &self.stderr_file)
            .finish()
    }
}

/// The variables that a server inherits by default, as with the official SDKs: a host's environment
/// contains secrets that are not for its servers.
const INHERITED_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    // The locale and the time zone are no secrets, and without them, programs write other text.
    &[
        "HOME",
        "LANG",
        "LANGUAGE",
        "LC_ADDRESS",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_IDENTIFICATION",
        "LC_MEASUREMENT",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NAME",
        "LC_NUMERIC",
        "LC_PAPER",
        "LC_TELEPHONE",
        "LC_TIME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TZ",
        "USER",
    ]
};

fn inherited(value: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = (&'static str, OsString)> {
    // A value with this prefix is an exported shell function, which a shell among the servers would
    // run.
    let is_function = |value: &OsString| value.as_encoded_bytes().starts_with(b"()");
    INHERITED_VARIABLES.iter().filter_map(move |name| Some((*name, value(name).filter(|value| !is_function(value))?)))
}

#[cfg(not(windows))]
fn resolved(program: &str, _: &BTreeMap<String, String>) -> PathBuf {
    PathBuf::from(program)
}

/// Windows finds `x.exe` for `x` by itself, but not `x.cmd`, which is what package managers such as
/// npm install.
#[cfg(windows)]
fn resolved(program: &str, env: &BTreeMap<String, String>) -> PathBuf {
    let given = env.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
    let path = given.map(|(_, path)| path.into()).or_else(|| std::env::var_os("PATH"));
    let folders: Vec<_> = path.map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    script_on_path(program, &folders, Path::is_file).unwrap_or_else(|| PathBuf::from(program))
}

/// The first script for a name, in a folder that has no program of that name. A name with folders,
/// such as `node_modules/.bin/x`, is a path.
#[cfg(any(windows, test))]
fn script_on_path(name: &str, folders: &[PathBuf], is_file: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let (path, here) = (Path::new(name), [PathBuf::new()]);
    if path.extension().is_some() {
        return None;
    }
    let folders = if path.components().count() == 1 { folders } else { &here };
    folders
        .iter()
        .flat_map(|folder| ["exe", "cmd", "bat"].map(|kind| folder.join(path.with_extension(kind))))
        .find(|file| is_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_arguments_and_no_secret() {
        for (command, display) in [
            (&["node", "srv.mjs", "--root", "a", "--token", "secret", "b"][..], "node srv.mjs --root a --token … b"),
            (
                &["x", "--api-key=secret", "PASSWORD=secret", "--url=http://u:secret@h/"],
                "x --api-key=… PASSWORD=… --url=…",
            ),
            (
                &["x", "http://u:secret@h/?key=a", "sk-0123456789abcdef0123", "@scope/package@1.2.3"],
                "x … … @scope/package@1.2.3",
            ),
            (&["x", "\u{1b}[2Ja", &"long ".repeat(100)], "x a …"),
            (&["server"], "server"),
            (&[], ""),
        ] {
            assert_eq!(ChildCommand::new(command.iter().copied()).display(), display);
        }
    }

    #[test]
    fn scripts_are_found_where_a_program_would_be() {
        let folders = [PathBuf::from("a"), PathBuf::from("b")];
        let exist = |files: &'static [&str]| move |file: &Path| files.iter().any(|name| file == Path::new(name));
        let found = |name, files| script_on_path(name, &folders, exist(files));
        assert_eq!(found("npx", &["b/npx.cmd"]), Some(PathBuf::from("b/npx.cmd")));
        assert_eq!(found("npx", &["a/npx.exe", "b/npx.cmd"]), Some(PathBuf::from("a/npx.exe")));
        assert_eq!(found("npx.cmd", &["a/npx.cmd"]), None);
        assert_eq!(found("./npx", &["a/npx.cmd"]), None);
        assert_eq!(found("bin/npx", &["bin/npx.cmd", "a/bin/npx.exe"]), Some(PathBuf::from("bin/npx.cmd")));
        assert_eq!(found("npx", &[]), None);
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let env = BTreeMap::from([("API_KEY".to_owned(), "secret".to_owned())]);
        let display = format!("{:?}", ChildCommand { env, ..ChildCommand::new(["server"]) });
        assert!(display.contains("API_KEY") && display.contains("server") && !display.contains("secret"), "{display}");
    }

    #[test]
    fn a_short_list_of_the_environment_is_inherited_without_functions_of_a_shell() {
        let value = |name: &str| match name {
            "PATH" => Some("/bin".into()),
            "LANG" | "LC_ALL" | "LC_CTYPE" | "TZ" if !cfg!(windows) => Some("x".into()),
            "TERM" | "TEMP" => Some("() { :; }; echo".into()),
            "API_KEY" => Some("secret".into()),
            _ => None,
        };
        let names: Vec<_> = inherited(value).map(|(name, _)| name).collect();
        let expected: &[&str] = if cfg!(windows) { &["PATH"] } else { &["LANG", "LC_ALL", "LC_CTYPE", "PATH", "TZ"] };
        assert_eq!(names, expected);
    }
}
