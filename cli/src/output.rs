//! Prints results to standard output, and everything else to standard error.

use crate::failure::Failure;
use anstyle::{AnsiColor, Style};
use clap::{Args, builder::FalseyValueParser};
use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};
use trunkline::{printable, printable_json, protocol::RawJson};

/// The flags about output.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print JSON: the result as the server sent it, and errors as one line.
    #[arg(long, global = true, env = "TRUNKLINE_JSON", hide_env = true, value_parser = FalseyValueParser::new())]
    json: bool,
    /// Print no notes: only results and errors.
    #[arg(long, short, global = true, env = "TRUNKLINE_QUIET", hide_env = true, value_parser = FalseyValueParser::new())]
    quiet: bool,
    /// Print without colors. `NO_COLOR` and `CLICOLOR` work as well.
    #[arg(long, global = true, env = "TRUNKLINE_NO_COLOR", hide_env = true, value_parser = FalseyValueParser::new())]
    no_color: bool,
    /// Record all messages, and the heads of HTTP requests and responses, as lines of JSON in a new
    /// file in this folder. Secrets are removed, but not what the messages contain.
    #[arg(long, value_name = "FOLDER", global = true, env = "TRUNKLINE_WIRE", hide_env = true)]
    wire: Option<PathBuf>,
}

impl OutputFlags {
    /// Begins to record, if the person wants it.
    pub(crate) fn record(&self) -> Result<(), Failure> {
        let Some(folder) = &self.wire else { return Ok(()) };
        trunkline::wire_log::record_in(folder)
            .map_err(|error| Failure::usage(format!("--wire: {} cannot be written: {error}", folder.display())))
    }
}

/// Set if no notes are wanted. Stores of the library have some, too.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints a note to standard error.
pub(crate) fn note(note: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        tell(note);
    }
}

/// Prints to standard error what a person needs, even if no notes are wanted.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(text));
}

/// Why standard output has not taken everything.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Returns whether a part of the output was written. A closed pipe, as of `head`, is no error.
fn written(done: io::Result<()>) -> bool {
    let Err(error) = done else { return true };
    if error.kind() != io::ErrorKind::BrokenPipe {
        let _ = LOST.set(error);
    }
    false
}

/// The failure if a part of the output was lost, as on a full disk.
pub(crate) fn lost() -> Option<Failure> {
    let error = LOST.get()?;
    Some(Failure::usage(format!("standard output cannot be written: {error}")).hint("write it to another place"))
}

/// Prints JSON on one line: the same value, without characters that a terminal obeys. Returns
/// whether it was written.
pub(crate) fn json_line(json: &RawJson) -> bool {
    let mut out = io::stdout().lock();
    written(writeln!(out, "{}", printable_json(json)).and_then(|()| out.flush()))
}

/// Prints results and errors.
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();

impl Output {
    pub(crate) fn new(flags: &OutputFlags) -> Self {
        if flags.no_color {
            anstream::ColorChoice::Never.write_global();
        }
        IS_QUIET.store(flags.quiet, Ordering::Relaxed);
        Self { json: flags.json, quiet: flags.quiet }
    }

    /// Prints a line of our own text, with the server's parts made printable before.
    pub(crate) fn line(&self, line: &str) {
        let mut out = anstream::stdout().lock();
        written(writeln!(out, "{line}").and_then(|()| out.flush()));
    }

    /// Prints the text of a result: unchanged, unless it goes to a terminal.
    pub(crate) fn text(&self, text: &str) {
        let mut out = io::stdout().lock();
        let shown = if out.is_terminal() { printable(text) } else { text.to_owned() };
        let end = if shown.ends_with('\n') { "" } else { "\n" };
        written(write!(out, "{shown}{end}").and_then(|()| out.flush()));
    }

    /// Writes bytes as they are, unless they go to a terminal.
    pub(crate) fn exactly(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        if out.is_terminal() {
            drop(out);
            return self.text(&String::from_utf8_lossy(bytes));
        }
        written(out.write_all(bytes).and_then(|()| out.flush()));
    }

    /// Prints JSON of a server on one line.
    pub(crate) fn raw(&self, json: &RawJson) {
        json_line(json);
    }

    /// Prints a note to standard error.
    pub(crate) fn note(&self, text: &str) {
        note(text);
    }

    /// Prints an error to standard error: three lines, or one of JSON.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            let json = RawJson::from_value(&failure.to_json()).unwrap_or_else(|_| RawJson::empty_object());
            let _ = writeln!(io::stderr().lock(), "{}", printable_json(&json));
            return;
        }
        let mut out = anstream::stderr().lock();
        for (start, text) in failure.lines() {
            let style = if start.starts_with("error") { ERROR } else { DIM };
            let _ = writeln!(out, "{style}{start}{style:#}{text}");
        }
    }
}
