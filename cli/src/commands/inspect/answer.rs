//! The answer to a command of the page.

use crate::failure::{Failure, Problem};
use serde::Serialize;

/// JSON.
pub(super) type Answered = Result<String, Refused>;

/// Why a command is refused.
pub(super) enum Refused {
    /// There is no such command.
    Unknown,
    Failed(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed((&failure).into())
    }
}

pub(super) fn done(outcome: Result<(), Problem>) -> Answered {
    outcome?;
    Ok("{}".to_owned())
}

pub(super) fn written(answer: &impl Serialize) -> Answered {
    serde_json::to_string(answer).map_err(|error| Failure::usage(error.to_string()).into())
}
