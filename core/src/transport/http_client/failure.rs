//! Failures in words.

use crate::client::LinkFailure;
use reqwest::{Response, Url};
use std::error::Error;

/// How much of an error page is repeated.
const EXCERPT: usize = 300;

/// A request that got no response, or a response that broke off.
pub(super) fn of_reqwest(url: &Url, error: &reqwest::Error) -> LinkFailure {
    let cause = causes(error);
    if error.is_connect() {
        return LinkFailure::Unreachable(format!("Cannot connect to {url}: {cause}"));
    }
    LinkFailure::Broken(format!("The connection to {url} broke: {cause}"))
}

/// What lies under reqwest's own words, which only repeat the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.ends_with(&words) {
            if !text.is_empty() {
                text += ": ";
            }
            text += &words;
        }
        cause = error.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

/// An answer that is none: its status and the start of its body.
pub(super) fn of_status(status: http::StatusCode, body: &[u8]) -> LinkFailure {
    let text: String = String::from_utf8_lossy(body).split_whitespace().collect::<Vec<_>>().join(" ");
    LinkFailure::Status { status: status.as_u16(), text: text.chars().take(EXCERPT).collect() }
}

/// The body of a response, of at most `max` bytes.
pub(super) async fn read(url: &Url, mut response: Response, max: usize) -> Result<bytes::Bytes, LinkFailure> {
    let mut first = bytes::Bytes::new();
    let mut rest = bytes::BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| of_reqwest(url, &error))? {
        if first.len() + rest.len() + chunk.len() > max {
            return Err(LinkFailure::Broken(format!("The server's answer is larger than the limit of {max} bytes")));
        }
        // Most answers come in one piece, which is kept as it is.
        if first.is_empty() && rest.is_empty() {
            first = chunk;
        } else {
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.extend_from_slice(&chunk);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}
