//! Failures: the problem, what was tried, and what to do.

use crate::exit::Exit;
use serde::Serialize;
use serde_json::{Value, json};
use trunkline::{
    ClientError, RpcError,
    client::{ErrorKind, NegotiationError},
    printable,
    protocol::model::{ConnectionFailure, FailureReason},
};

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// For programs: a kind of error of the library, or what this program found wrong.
    code: String,
    message: String,
    tried: Vec<String>,
    hint: Option<String>,
    target: Option<String>,
    /// The words of the server.
    server: Option<Box<ServerWords>>,
}

/// The words of a server about a failure; the message has them as well.
#[derive(Debug)]
struct ServerWords {
    /// Its error.
    rpc: Option<RpcError>,
    /// The last lines of its standard error.
    stderr: Vec<String>,
}

/// A failure as the page of `inspect` shows it: the lines that the program would print.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) exit: Exit,
    /// A kind of error: `transport`, `timeout`, `protocol`, `cancelled`, `unauthorized`, …
    pub(crate) code: String,
    /// The problem, with the server's own code and text first.
    what: String,
    /// The attempt.
    #[serde(rename = "where")]
    tried: Option<String>,
    /// Advice.
    hint: Option<String>,
    /// Further lines: the last ones of the server's standard error.
    lines: Vec<String>,
    /// The server's error, if it sent one.
    #[cfg_attr(test, ts(type = "{ code: number; message: string; data?: Json } | null"))]
    rpc: Option<Box<RpcError>>,
}

impl Problem {
    /// The error of the server, or one with this code.
    pub(crate) fn to_rpc(&self, code: i64) -> RpcError {
        self.rpc.as_deref().cloned().unwrap_or_else(|| RpcError::new(code, self.what.clone()))
    }
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.to_owned(),
            message: message.into(),
            tried: Vec::new(),
            hint: None,
            target: None,
            server: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, "unreachable", message)
    }

    /// The server sent what cannot be used.
    pub(crate) fn invalid_response(message: impl Into<String>) -> Self {
        Self::new(Exit::Protocol, "invalidResponse", message).tried("reading the response")
    }

    /// The server has none of that name: `what` is a tool, a prompt and so on.
    pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let near = nearest(name, known);
        let hint = match near.is_empty() {
            true => format!("see all with `trunkline list {what}s`"),
            false => format!("did you mean {}?", near.join(", ")),
        };
        Self::new(Exit::Refused, "unknown", format!("the server has no {what} {name:?}")).hint(hint)
    }

    /// Adds what was tried.
    pub(crate) fn tried(mut self, what: impl Into<String>) -> Self {
        self.tried.push(what.into());
        self
    }

    /// The failure in what another process of this program has printed as JSON.
    pub(crate) fn printed_in(text: &str) -> Option<Self> {
        text.lines().find_map(|line| {
            let printed: Value = serde_json::from_str(line).ok()?;
            let member = |name: &str| printed["error"][name].as_str().map(str::to_owned);
            let exit = Exit::named(&member("kind")?)?;
            Some(Self { hint: member("hint"), ..Self::new(exit, &member("code")?, member("message")?) })
        })
    }

    /// Says what to do if the server has refused the request, unless that is known already.
    pub(crate) fn or_hint(self, hint: &str) -> Self {
        if self.hint.is_some() || self.exit != Exit::Refused { self } else { self.hint(hint) }
    }

    /// Says what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn at(self, target: &str) -> Self {
        Self { target: Some(target.to_owned()), ..self }
    }

    /// The hint, or else the advice for all failures of this kind.
    fn advice(&self) -> Option<String> {
        let hint = self.hint.as_deref().or_else(|| self.exit.advice())?;
        Some(match &self.target {
            Some(target) if self.exit == Exit::Login => hint.replace("SERVER", target),
            _ => hint.to_owned(),
        })
    }

    /// The lines for people, safe to print: `error: …`, `  tried: …`, `  do:    …`.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let line = |text: &str| printable(text).trim_end().replace('\n', "\n         ");
        let mut lines = vec![("error: ", line(&self.message))];
        if !self.tried.is_empty() {
            lines.push(("  tried: ", line(&self.tried.join(", "))));
        }
        lines.extend(self.advice().map(|advice| ("  do:    ", line(&advice))));
        lines
    }

    /// The last lines of the server's standard error.
    fn stderr(&self) -> &[String] {
        self.server.as_ref().map_or(&[], |server| &server.stderr)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({"error": {
            "kind": self.exit.name(),
            "code": self.code,
            "message": self.message,
            "hint": self.advice(),
            "target": self.target,
            "causes": self.stderr(),
        }})
    }
}

impl Problem {
    /// For what is no fault that somebody could mend.
    pub(crate) fn without_advice(self) -> Self {
        Self { tried: None, hint: None, ..self }
    }
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Self {
        let Failure { exit, code, message, tried, hint, server, .. } = failure;
        let rpc = server.as_ref().and_then(|server| server.rpc.clone());
        let what = match failure.stderr().is_empty() {
            true => message.as_str(),
            // They are lines of their own there.
            false => message.split(STDERR_LINES).next().unwrap_or(message),
        };
        Self {
            exit: *exit,
            code: code.clone(),
            what: shortened(what),
            tried: (!tried.is_empty()).then(|| shortened(&tried.join(", "))),
            // A page has no flags.
            hint: if *exit == Exit::Usage { hint.clone() } else { failure.advice() },
            lines: failure.stderr().iter().map(|line| shortened(line)).collect(),
            rpc: rpc.map(|RpcError { code, message, data }| {
                let data = data.filter(|data| data.to_string().len() <= MAX_PROBLEM_BYTES);
                Box::new(RpcError { code, message: shortened(&message), data })
            }),
        }
    }
}

/// The library's words before the last lines of a server's standard error.
const STDERR_LINES: &str = "; its last stderr lines:";
/// Maximum size of one text of a problem: some are of the server.
const MAX_PROBLEM_BYTES: usize = 10_000;

fn shortened(text: &str) -> String {
    let printed = printable(text);
    match printed.char_indices().find(|(index, _)| *index >= MAX_PROBLEM_BYTES) {
        Some((end, _)) => format!("{} …", &printed[..end]),
        None => printed,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let connection = error.connection();
        let reason = connection.as_ref().and_then(|connection| connection.reason);
        let exit = exit_of(&error, reason.as_ref());
        let code = reason.as_ref().map_or_else(|| error.kind().as_str(), |reason| reason.as_str());
        let mut failure = Self::new(exit, code, in_flags(error.to_string()));
        let stderr = connection.as_ref().and_then(|connection| connection.stderr.clone()).unwrap_or_default();
        let rpc = error.rpc().cloned();
        if rpc.is_some() || !stderr.is_empty() {
            failure.server = Some(Box::new(ServerWords { rpc, stderr }));
        }
        match hint_of(&error, connection.as_ref()) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The advice of the library about its options, as flags.
fn in_flags(message: String) -> String {
    let flags = [
        ("set issuer to ", "pass --authorization-server "),
        ("set send_resource (sendResource) to false", "pass --resource none"),
    ];
    flags.iter().fold(message, |message, (option, flag)| message.replace(option, flag))
}

fn exit_of(error: &ClientError, reason: Option<&FailureReason>) -> Exit {
    match error {
        ClientError::NoInput(_) | ClientError::InputRequired(_) => return Exit::Person,
        ClientError::Negotiation(NegotiationError::Refused(_)) | ClientError::TooManyRounds(_) => {
            return Exit::Protocol;
        }
        _ => {}
    }
    match error.kind() {
        ErrorKind::Protocol | ErrorKind::Busy | ErrorKind::Unsupported => Exit::Refused,
        ErrorKind::Timeout => Exit::Timeout,
        ErrorKind::Cancelled => Exit::Interrupted,
        ErrorKind::Version => Exit::Protocol,
        ErrorKind::InvalidArgument => Exit::Usage,
        ErrorKind::AuthorizationRequired => Exit::Login,
        ErrorKind::Transport if reason == Some(&FailureReason::InvalidResponse) => Exit::Protocol,
        _ => Exit::Unreachable,
    }
}

const CHECK_URL: &str = "check the URL: endpoints often end in /mcp or /sse";

/// The advice for the person at the terminal.
fn hint_of(error: &ClientError, connection: Option<&ConnectionFailure>) -> Option<String> {
    let hint = match error.kind() {
        ErrorKind::Version => "leave the revision open: --era auto",
        ErrorKind::Busy => "try again later",
        ErrorKind::Transport => match connection?.reason.as_ref()? {
            FailureReason::NotStarted => "run the command by itself: it starts without a shell",
            FailureReason::Exited => {
                "run the command by itself to see more; it gets few variables of your environment: add them with --env NAME=VALUE, or --inherit-env"
            }
            FailureReason::Refused => "start the server, or correct the host and port",
            FailureReason::Unreachable => "check the host name and the network; --proxy URL names a proxy",
            FailureReason::Tls => "trust another certificate with --ca FILE",
            FailureReason::Status => CHECK_URL,
            FailureReason::InvalidResponse if connection?.http_status.is_some() => CHECK_URL,
            _ => return None,
        },
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The names most like a misspelt one, best first: at most three.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    /// Less similar names are noise.
    const MIN_SIMILARITY: f64 = 0.7;
    let name = name.to_lowercase();
    let similarity = |known: &str| {
        let known = known.to_lowercase();
        let is_part = name.len() > 2 && known.contains(&name);
        if is_part { 1.0 } else { strsim::jaro_winkler(&known, &name) }
    };
    let mut near: Vec<(f64, &str)> = known.into_iter().map(|known| (similarity(known), known)).collect();
    near.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_others_not_at_all() {
        let known = ["get-sum", "get-sums", "echo", "get-tiny-image", "annotated"];
        assert_eq!(nearest("get-sun", known), ["get-sum", "get-sums"]);
        assert_eq!(nearest("ECHO", known), ["echo"]);
        assert_eq!(nearest("image", known), ["get-tiny-image"]);
        assert!(nearest("zzz", known).is_empty());
    }

    #[test]
    fn the_lines_of_a_failure_are_safe_and_indented() {
        let failure = Failure::usage("bad\u{1b}[31m\nsecond").tried("one").tried("two").hint("do\u{202e} it");
        let lines: Vec<_> = failure.lines().into_iter().map(|(start, text)| format!("{start}{text}")).collect();
        assert_eq!(lines, ["error: bad\n         second", "  tried: one, two", "  do:    do it"]);
    }

    #[test]
    fn every_failure_says_what_to_do() {
        for exit in Exit::ALL {
            let lines = Failure::new(exit, "code", "message").lines();
            let is_failure = !matches!(exit, Exit::Done | Exit::Faulty | Exit::Interrupted);
            assert_eq!(lines.last().is_some_and(|(start, _)| *start == "  do:    "), is_failure, "{exit:?}");
        }
        assert_eq!(Failure::invalid_response("message").lines().len(), 3);
    }
}
