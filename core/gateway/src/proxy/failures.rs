//! The errors that a proxy's callers get when the server behind it gives no result.

use serde_json::{Value, json, to_value};
use trunkline_core::{
    client::{ClientError, ErrorKind},
    protocol::{
        RpcError,
        error::code,
        model::{ConnectionFailure, FailureReason},
    },
};

/// The error for the caller. Errors of the server are passed on unchanged. `server` is its name in
/// the log.
///
/// Other failures may have details that are not meant for everyone, such as the output of a process
/// or an address. With `details`, the message has them, and what to do about the failure; otherwise
/// only what kind of failure it is, and how a process ended. The data are the facts.
pub(super) fn rpc_error(server: Option<&str>, error: &ClientError, details: bool) -> RpcError {
    if let Some(error) = error.rpc() {
        return error.clone();
    }
    match error {
        ClientError::Busy(text) => RpcError::busy(text),
        ClientError::Invalid(text) => RpcError::invalid_params(text),
        ClientError::NoInput(text) => {
            RpcError::invalid_request(format!("The server behind this one did not get the input that it needs: {text}"))
        }
        error => {
            tracing::warn!(target: "trunkline::server::proxy", server, %error, "the server behind a proxy gave no result");
            let facts = error.connection().unwrap_or_default();
            let text = match details {
                true => format!("The server behind this one gave no result: {error}{}", remedy(error, &facts)),
                false => summary(error, &facts),
            };
            let told = RpcError::new(code::INTERNAL_ERROR, &text);
            match data(facts, details) {
                Some(data) => told.with_data(data),
                None => told,
            }
        }
    }
}

/// The error of a request that was in flight when another server replaced this one.
pub(super) fn restarted() -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        "The server was restarted, and did not finish this request: it may have had effects. Call again.",
    )
    .with_data(json!({"reason": "restarted"}))
}

/// Advice for a failure whose message has none.
fn remedy(error: &ClientError, facts: &ConnectionFailure) -> &'static str {
    match (error.kind(), &facts.reason) {
        (ErrorKind::AuthorizationRequired, _) => "; give the client of this proxy credentials, or log in",
        (ErrorKind::Timeout, _) => "; check whether the server works, or allow it more time",
        (_, Some(FailureReason::Refused)) => "; check whether the server runs, and its address",
        (_, Some(FailureReason::Unreachable)) => "; check the address and the network",
        (_, Some(FailureReason::Exited)) => "\nThe next request starts it again.",
        _ => "",
    }
}

/// The kind of a failure, for callers that may not see details.
fn summary(error: &ClientError, facts: &ConnectionFailure) -> String {
    let what = match error.kind() {
        ErrorKind::Timeout => "The server behind this one did not answer in time",
        ErrorKind::AuthorizationRequired => "This server lacks the authorization for the one behind it",
        ErrorKind::Cancelled => "The call of the server behind this one was cancelled",
        ErrorKind::Transport | ErrorKind::Closed if facts.reason != Some(FailureReason::InvalidResponse) => {
            "The server behind this one cannot be reached now"
        }
        _ => "The response of the server behind this one is invalid",
    };
    let why = match (&facts.reason, facts.exit_code, facts.signal, facts.http_status) {
        (Some(FailureReason::NotStarted), ..) => ": it could not be started".to_owned(),
        (Some(FailureReason::Exited), Some(code), ..) => format!(": it exited with status {code}"),
        (Some(FailureReason::Exited), _, Some(signal), _) => format!(": it was terminated by signal {signal}"),
        (_, _, _, Some(status)) => format!(": it answered HTTP {status}"),
        _ => String::new(),
    };
    what.to_owned() + &why
}

/// The facts of a failed connection as the data of an error.
fn data(mut facts: ConnectionFailure, details: bool) -> Option<Value> {
    facts.reason.as_ref()?;
    facts.challenges = None;
    if !details {
        facts.stderr = None;
    }
    to_value(facts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_core::client::{LinkFailure, ProcessExit};

    fn exit(code: Option<i32>, signal: Option<i32>) -> ClientError {
        let mut exit = ProcessExit::new("the server process \"secret\" ended; its last stderr lines:\nsecret");
        (exit.exit_code, exit.signal, exit.stderr) = (code, signal, vec!["secret".to_owned()]);
        ClientError::Link(LinkFailure::Exited(exit))
    }

    #[test]
    fn a_caller_elsewhere_learns_what_is_missing_without_the_details() {
        let unauthorized = LinkFailure::Unauthorized { text: "secret".into(), demand: Box::default() };
        let status = LinkFailure::Status { status: 503, text: "secret".into(), challenges: vec!["secret".into()] };
        let page = LinkFailure::Status { status: 200, text: "secret".into(), challenges: Vec::new() };
        for (error, what, data) in [
            (ClientError::Link(unauthorized), "lacks the authorization", None),
            (
                ClientError::Link(LinkFailure::Broken("secret".into())),
                "cannot be reached now",
                Some(json!({"reason": "broken"})),
            ),
            (
                ClientError::Link(status),
                "cannot be reached now: it answered HTTP 503",
                Some(json!({"reason": "status", "httpStatus": 503})),
            ),
            (
                ClientError::Link(page),
                "is invalid: it answered HTTP 200",
                Some(json!({"reason": "invalidResponse", "httpStatus": 200})),
            ),
            (
                ClientError::Link(LinkFailure::NotStarted("secret".into())),
                "could not be started",
                Some(json!({"reason": "notStarted"})),
            ),
            (exit(Some(3), None), "exited with status 3", Some(json!({"reason": "exited", "exitCode": 3}))),
            (exit(None, Some(9)), "terminated by signal 9", Some(json!({"reason": "exited", "signal": 9}))),
            (ClientError::Timeout("secret".into()), "did not answer in time", None),
            (ClientError::InvalidResponse("secret".into()), "is invalid", Some(json!({"reason": "invalidResponse"}))),
        ] {
            let told = rpc_error(None, &error, false);
            assert!(told.message.contains(what) && !told.to_string().contains("secret"), "{told}");
            assert_eq!(told.data, data, "{told}");
        }
    }

    #[test]
    fn a_caller_on_this_machine_learns_the_cause_and_the_remedy() {
        for (error, what) in [
            (
                ClientError::Link(LinkFailure::Refused("Cannot connect to x".into())),
                "Cannot connect to x; check whether",
            ),
            (ClientError::Timeout("It is late".into()), "It is late; check whether"),
            (exit(Some(3), None), "last stderr lines:\nsecret\nThe next request starts it again."),
        ] {
            let told = rpc_error(None, &error, true);
            assert!(told.message.contains(what), "{told}");
        }
        assert_eq!(rpc_error(None, &exit(Some(3), None), true).data.unwrap()["stderr"], json!(["secret"]));
    }
}
