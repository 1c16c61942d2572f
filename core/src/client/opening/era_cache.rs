//! The eras of servers (DISC-22): a server of the legacy era that is silent when probed costs its
//! probe only once.

use crate::{protocol::Era, verdicts::Verdicts};

/// The era of each server that was met a while ago.
pub(in crate::client) static ERAS: Verdicts<Era> = Verdicts::new();
