//! `trunkline man`: manual pages, which the packages contain.

use crate::{exit::Exit, failure::Failure};
use clap::Args;
use std::path::PathBuf;

/// Write the manual page of each command.
#[derive(Args)]
pub(crate) struct Man {
    /// The folder to write them into.
    folder: PathBuf,
}

impl Man {
    /// `program` is the whole command line.
    pub(crate) fn run(self, program: &clap::Command) -> Result<Exit, Failure> {
        clap_mangen::generate_to(program.clone(), &self.folder).map_err(|error| {
            Failure::usage(format!("cannot write manual pages: {error}"))
                .tried(self.folder.display().to_string())
                .hint("name a folder that exists and can be written")
        })?;
        Ok(Exit::Done)
    }
}
