//! Faults of the command line, in the form of all other failures.

use crate::{failure::Failure, output::Output};
use clap::{
    Command, Error,
    builder::{FalseyValueParser, TypedValueParser},
    error::ErrorKind,
};
use std::{env, ffi::OsString, process::ExitCode};

/// Prints a fault, or the help that the words ask for.
pub(crate) fn print(error: &Error, program: &Command) -> ExitCode {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        let _ = error.print();
        return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let failure = failure(&error.render().to_string());
    Output { json: wants_json(program), quiet: false }.failure(&failure);
    failure.exit.into()
}

/// The failure in a text of clap: paragraphs with the problem, tips, and the usage.
fn failure(text: &str) -> Failure {
    let mut paragraphs = text.trim_start_matches("error: ").split("\n\n");
    let in_one_line = |text: &str, between: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(between);
    let failure = Failure::usage(in_one_line(paragraphs.next().unwrap_or_default().trim(), " "));
    let (mut tips, mut usage) = (Vec::new(), None);
    for paragraph in paragraphs.map(str::trim) {
        // After `--` comes the command of a server.
        let is_useful = |tip: &&str| !tip.starts_with("to pass ");
        tips.extend(paragraph.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).filter(is_useful));
        usage = usage.or_else(|| paragraph.strip_prefix("Usage: "));
    }
    match (&tips[..], usage) {
        ([], None) => failure,
        ([], Some(usage)) => failure.hint(format!("{}; --help says more", in_one_line(usage, " or "))),
        (tips, _) => failure.hint(tips.join("; ")),
    }
}

/// Returns whether errors are wanted as JSON, although the flags could not be read.
fn wants_json(program: &Command) -> bool {
    let is_set = |value: OsString| FalseyValueParser::new().parse(program, None, value).unwrap_or_default();
    env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
        || env::var_os("TRUNKLINE_JSON").is_some_and(is_set)
}
