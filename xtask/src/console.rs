//! Progress on the console: in colour and in place on a terminal, plain lines in a pipe.

use std::io::{IsTerminal, Write, stdout};

#[derive(Clone, Copy)]
pub(crate) enum Colour {
    Green,
    Red,
    Dim,
    Bold,
}

pub(crate) struct Console {
    terminal: bool,
    colours: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        let terminal = stdout().is_terminal();
        let colours = terminal
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { terminal, colours }
    }

    pub(crate) fn paint(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Green => "32",
            Colour::Red => "31",
            Colour::Dim => "2",
            Colour::Bold => "1",
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A line that stays.
    pub(crate) fn line(&self, text: &str) {
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        println!("{clear}{text}");
        let _ = stdout().flush();
    }

    /// A line that the next one replaces; in a pipe it is left out.
    pub(crate) fn progress(&self, text: &str) {
        if self.terminal {
            print!("\r\x1b[2K{}", self.paint(Colour::Dim, &text.chars().take(100).collect::<String>()));
            let _ = stdout().flush();
        }
    }

    /// The start of a longer step: shown in place on a terminal, as a line in a pipe.
    pub(crate) fn step(&self, text: &str) {
        if self.terminal { self.progress(text) } else { self.line(text) }
    }
}
