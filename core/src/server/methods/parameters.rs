//! Parameters of requests.

use crate::{
    composition::rewriting::{self, ObjectMembers},
    protocol::{RawJson, RpcError},
    server::request::ActiveRequest,
};

/// The parameter of that name, which must be a string.
pub(super) fn text(context: &ActiveRequest, params: Option<&RawJson>, name: &str) -> Result<String, RpcError> {
    let members: Option<ObjectMembers> = params.and_then(|params| params.parse().ok());
    members
        .and_then(|members| rewriting::text(&members, name))
        .ok_or_else(|| RpcError::invalid_params(format!("{} needs the string parameter {name}", context.method)))
}
