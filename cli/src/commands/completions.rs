//! `trunkline completions`: completion of commands and flags in a shell.

use crate::{completion, exit::Exit, failure::Failure};
use clap::Args;
use clap_complete::{Shell, env::Shells};

/// Print the completion script of a shell.
///
/// Shells complete commands and flags, the names of configured servers and open sessions, and the
/// tools of a server with their arguments, if they were listed within the last hour.
#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(trunkline completions bash)
  trunkline completions fish > ~/.config/fish/completions/trunkline.fish")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

const NAME: &str = "trunkline";

impl Completions {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let shells = Shells::builtins();
        let name = self.shell.to_string();
        let shell = shells.completer(&name).ok_or_else(|| Failure::usage(format!("{name} has no completions")))?;
        let mut output = std::io::stdout().lock();
        let written = shell.write_registration(completion::VARIABLE, NAME, NAME, NAME, &mut output);
        written.map_err(|error| Failure::unreachable(error.to_string()))?;
        Ok(Exit::Done)
    }
}
