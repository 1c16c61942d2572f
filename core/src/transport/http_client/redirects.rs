//! Redirects: which ones are followed, and the error for the others.

use super::http_failure;
use crate::{client::LinkFailure, printable::printable};
use http::{StatusCode, header};
use reqwest::{Response, redirect};

const MAX_REDIRECTS: usize = 5;

/// Follows redirects that keep method and body, within the same origin. Any other would lose the
/// message, or send it (and the caller's headers) to a third party.
pub(super) fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same_origin = attempt.previous().last().is_some_and(|url| url.origin() == attempt.url().origin());
    if same_origin && keeps_body(attempt.status()) && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Returns an error if the response is a redirect, because it was not followed.
pub(super) fn check_followed(response: &Response) -> Result<(), LinkFailure> {
    let status = response.status();
    let location = response.headers().get(header::LOCATION).filter(|_| status.is_redirection());
    let Some(location) = location else { return Ok(()) };
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let from = response.url();
    let target = from.join(&location);
    let why = match &target {
        Err(error) => format!("that is not a URL: {error}"),
        Ok(target) if target.origin() != from.origin() => {
            "a message and its headers are not sent to another origin".to_owned()
        }
        Ok(_) if !keeps_body(status) => "that status turns a POST into a GET".to_owned(),
        Ok(_) => format!("it has been redirected {MAX_REDIRECTS} times already"),
    };
    let target = http_failure::redacted(&target.map_or(location, String::from));
    let from = http_failure::redacted(from.as_str());
    let status = status.as_u16();
    let text = format!(
        "{from} redirects to {target} (HTTP {status}), which is not followed: {why}. If the server is there, connect to that URL"
    );
    Err(LinkFailure::Redirected { status, text: printable(&text) })
}

fn keeps_body(status: StatusCode) -> bool {
    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}
