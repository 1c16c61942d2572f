//! Progress of a call, on the last line of the terminal.

use crate::{
    output::Output,
    table::{cut, one_line},
};
use std::io::{self, IsTerminal, Write};
use trunkline::RequestOptions;

const MAX_LENGTH: usize = 70;
/// Returns to the start of the line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// Requests progress if it can be shown.
pub(crate) fn shown_by(output: &Output, options: RequestOptions) -> RequestOptions {
    if !is_shown(output) {
        return options;
    }
    options.with_progress(|progress, total, message| {
        let of = total.map_or_else(String::new, |total| format!("/{total}"));
        let message = message.map_or_else(String::new, |message| format!(" {}", one_line(message)));
        write_line(&format!("{progress}{of}{message}"));
    })
}

/// Shows a line instead of the last one. The text is printable.
pub(crate) fn show(output: &Output, text: &str) {
    if is_shown(output) {
        write_line(text);
    }
}

fn write_line(text: &str) {
    let _ = write!(io::stderr().lock(), "{CLEAR}{}", cut(text, MAX_LENGTH));
}

/// Clears the line.
pub(crate) fn end(output: &Output) {
    if is_shown(output) {
        let _ = write!(io::stderr().lock(), "{CLEAR}");
    }
}

fn is_shown(output: &Output) -> bool {
    !output.quiet && io::stderr().is_terminal()
}
