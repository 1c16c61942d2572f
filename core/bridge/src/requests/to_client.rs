//! Requests of a handler to the client of its call, and of middleware to run the rest of a request.

use crate::{
    BridgeError, PortState,
    message::{NEXT, Request},
    requests::{
        replies::finish,
        sent_request::{no_receiver, note_sent, sent, set_cause},
    },
    state::entries::RunningRequest,
};
use std::sync::Arc;
use trunkline::{
    Limits,
    protocol::RawJson,
    server::{CallInfo, ClientRequest, ClientRequestError},
};

pub(super) fn request(state: &Arc<PortState>, handle: u64, mut given: Request) -> Result<u64, BridgeError> {
    let (info, ticket) = {
        let mut tables = state.tables.lock();
        let info = tables.calls.get(handle).ok_or_else(no_receiver)?.call.info().clone();
        (info, tables.insert_request(&given, handle)?)
    };
    set_cause(state, ticket, &mut given);
    sent(state, ticket, send(state, &info, ticket, &given))
}

fn send(state: &Arc<PortState>, info: &CallInfo, ticket: u64, given: &Request) -> Result<(), BridgeError> {
    refuse_options_of_servers(given)?;
    let port = Arc::downgrade(state);
    let answered = move |outcome: Result<RawJson, BridgeError>| {
        if let Some(state) = port.upgrade() {
            finish(&state, ticket, outcome.map(RawJson::into_bytes));
        }
    };
    if given.method == NEXT {
        let done = move |outcome: Result<RawJson, _>| answered(outcome.map_err(BridgeError::from));
        return Ok(info.proceed_as(given.options.cause.clone(), given.params.clone(), done)?);
    }
    let method = given.method.as_str();
    let start = given.trace.as_ref().and_then(|_| info.client_request(method, given.params.as_ref()));
    let trace = state.telemetry.sending(ticket, start, given)?;
    let traced = trace.as_ref().and_then(|trace| trace.context.put_into(given.params.as_ref()).ok());
    let telemetry = trace.map(|_| Arc::clone(&state.telemetry));
    let completion = move |outcome: Result<RawJson, ClientRequestError>| {
        if let Some(telemetry) = telemetry {
            telemetry.client_answered(ticket, &outcome);
        }
        answered(outcome.map_err(BridgeError::from));
    };
    let timeout = given.options.timeout.unwrap_or_else(|| info.timeout_for(method));
    let max = given.options.max_timeout.unwrap_or(Limits::default().max_request_timeout).max(timeout);
    let params = traced.as_ref().or(given.params.as_ref());
    let asked = info.ask(ClientRequest { method, key: given.key.as_deref(), params, timeout, max }, completion)?;
    note_sent(state, ticket, RunningRequest::ToClient(info.clone(), asked));
    Ok(())
}

fn refuse_options_of_servers(given: &Request) -> Result<(), BridgeError> {
    let options = [
        (given.result_schema.is_some(), "`resultSchema` is for the tools of a server"),
        (given.options.is_manual(), "`manualInput`, `inputResponses` and `requestState` are for a server"),
        (given.options.fresh, "fresh is for the results of a server"),
        (given.all, "all is for the lists of a server"),
    ];
    match options.iter().find(|(is_given, _)| *is_given) {
        Some((_, text)) => Err(BridgeError::invalid(format!("request: {text}, not for the client of a call"))),
        None => Ok(()),
    }
}
