//! The raw client of `tests/vectors/runner`, connected to this test binary in the role of a server.

use crate::process::{File, READY, command};
use serde_json::Value;
use std::{
    ops::{Deref, DerefMut},
    process::ExitStatus,
};
pub(crate) use trunkline_vectors::wire::{CAPABILITIES, SUBSCRIPTION, VERSION, checker, modern, text_of};

pub(crate) struct Wire(pub(crate) trunkline_vectors::Wire);

impl Wire {
    /// Starts a server and reads its output.
    pub(crate) fn start(role: &str, file: &File) -> Self {
        let mut wire = Self::start_unread(role, file);
        wire.read();
        wire
    }

    /// Starts a server whose output is not read until [`trunkline_vectors::Wire::read`].
    pub(crate) fn start_unread(role: &str, file: &File) -> Self {
        Self(trunkline_vectors::Wire::start_unread(command(role, file), READY))
    }

    /// Ends the input and waits for the end of the server: its last messages, its status, and its
    /// standard error.
    pub(crate) fn close(self) -> (Vec<Value>, ExitStatus, String) {
        self.0.close()
    }
}

impl Deref for Wire {
    type Target = trunkline_vectors::Wire;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Wire {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
