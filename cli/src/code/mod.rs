//! A call as code: a short program, a line for `curl`, or one for this program.

mod call;
mod literals;
mod place;
mod programs;
mod shell;

pub(crate) use call::Form;
pub(crate) use shell::quoted;

use crate::{connection::Connection, failure::Failure, flags::ConnectionFlags, target::Server};
use call::Written;
use place::Place;
use serde_json::{Map, Value};
use trunkline::protocol::RawJson;

/// The call of a tool as code. `params` are those of its request.
pub(crate) async fn of_call(
    form: Form,
    (connection, flags): (&Connection, &ConnectionFlags),
    (tool, arguments): (&str, &Map<String, Value>),
    params: &RawJson,
) -> Result<String, Failure> {
    let place = Place::of(&connection.server.target, flags)?;
    let call = Written { place, tool, arguments };
    match form {
        Form::Trunkline => Ok(shell::trunkline(&call, &connection.server.label)),
        Form::Curl => shell::curl(&call, connection, params).await,
        language => Ok(programs::program(language, &call)),
    }
}

/// The line of a shell that calls a tool with this program.
pub(crate) fn line(
    server: &Server,
    flags: &ConnectionFlags,
    (tool, arguments): (&str, &Map<String, Value>),
) -> Result<String, Failure> {
    let place = Place::of(&server.target, flags)?;
    Ok(shell::trunkline(&Written { place, tool, arguments }, &server.label))
}

#[cfg(test)]
mod tests;
