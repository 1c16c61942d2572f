//! `trunkline completions`: completion of commands and flags in a shell.

use crate::exit::Exit;
use clap::Args;
use clap_complete::Shell;

/// Print the completion script of a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(trunkline completions bash)
  trunkline completions fish > ~/.config/fish/completions/trunkline.fish")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    /// `program` is the whole command line.
    pub(crate) fn run(self, program: &mut clap::Command) -> Exit {
        clap_complete::generate(self.shell, program, "trunkline", &mut std::io::stdout().lock());
        Exit::Done
    }
}
