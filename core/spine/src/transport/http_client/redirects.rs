//! Redirects: which ones are followed, and the error for the others.

use super::http_failure::HttpTarget;
use crate::{client::LinkFailure, printable::printable};
use http::{StatusCode, header};
use reqwest::{Response, Url};

pub(super) const MAX_REDIRECTS: usize = 5;

/// The URL that a response redirects to, if that keeps method and body, and is of the same origin.
/// Any other would lose the message, or send it (and the caller's headers) to a third party.
pub(super) fn followed(response: &Response) -> Option<Url> {
    if !keeps_body(response.status()) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    let target = response.url().join(str::from_utf8(location.as_bytes()).ok()?).ok()?;
    (target.origin() == response.url().origin()).then_some(target)
}

/// Returns an error if the response is a redirect, because it was not followed.
pub(super) fn check_followed(route: &HttpTarget, response: &Response) -> Result<(), LinkFailure> {
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
    let target = route.shown(&target.map_or(location, String::from));
    let from = route.shown(from.as_str());
    let status = status.as_u16();
    let text = format!(
        "{from} redirects to {target} (HTTP {status}), which is not followed: {why}. If the server is there, connect to that URL"
    );
    Err(LinkFailure::Redirected { status, text: printable(&text) })
}

fn keeps_body(status: StatusCode) -> bool {
    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}
