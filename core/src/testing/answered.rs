//! Requests that a script has answered.

use crate::protocol::model::{CreateMessageParams, ElicitFormParams, ElicitUrlParams};

/// A server request answered by the script.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnsweredRequest {
    /// A form for the user.
    Elicit(ElicitFormParams),
    /// A page for the user to open.
    ElicitUrl(ElicitUrlParams),
    /// A conversation for the model.
    Sample(Box<CreateMessageParams>),
}
