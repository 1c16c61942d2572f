//! The headers of requests.

use crate::{
    client::RequestHead,
    http::{content, headers, mirror},
    protocol::{Era, Revision, RevisionFeature},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The media types accepted in response to a POST (HTTP-08).
const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The only accepted content coding.
pub(super) const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The caller's headers, and those of every POST.
pub(super) fn of_posts(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(header::ACCEPT, ACCEPT);
    // Without it, a server may compress its responses (RFC 9110 section 12.5.3), and a few bytes
    // could expand to many.
    headers.insert(header::ACCEPT_ENCODING, IDENTITY);
    headers.insert(header::CONTENT_TYPE, content::JSON);
    headers
}

/// The headers of a message in a revision. `request` has the mirrored parts of a request.
pub(super) fn of_message(
    base: &HeaderMap,
    revision: Option<Revision>,
    session: Option<&HeaderValue>,
    request: Option<&RequestHead>,
) -> Result<HeaderMap, String> {
    let mut found = base.clone();
    put_session(&mut found, revision, session);
    for (name, value) in
        request.and_then(|request| request.trace.as_ref()).iter().flat_map(|trace| trace.context.members())
    {
        // A value that is not a valid header is only sent in `_meta`.
        if let Ok(value) = HeaderValue::from_str(value) {
            found.insert(HeaderName::from_static(name), value);
        }
    }
    if let Some(request) = request
        && revision.is_some_and(|revision| revision.era() == Era::Modern)
    {
        let method = HeaderValue::from_str(&request.method)
            .map_err(|_| format!("The method {:?} cannot be sent in a header", request.method))?;
        found.insert(headers::METHOD, method);
        if let Some(name) = &request.name {
            found.insert(headers::NAME, mirror::encode(name)?);
        }
        for (name, value) in &request.parameters {
            found.insert(mirror::parameter_name(name)?, mirror::encode(value)?);
        }
    }
    Ok(found)
}

/// The headers of a request without a session, as a client sends them.
///
/// # Errors
/// If a part of the request cannot be sent in a header.
#[doc(hidden)]
pub fn headers_of_request(request: &RequestHead) -> Result<Vec<(String, String)>, String> {
    let mut base = of_posts(HeaderMap::new());
    base.remove(header::ACCEPT_ENCODING);
    let headers = of_message(&base, request.revision, None, Some(request))?;
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    headers.sort_unstable();
    Ok(headers)
}

/// The headers of the GET that opens a stream. HTTP+SSE has no session.
pub(super) fn of_stream(base: &HeaderMap, revision: Option<Revision>, session: Option<&HeaderValue>) -> HeaderMap {
    let mut found = of_session(base, revision, session);
    found.insert(header::ACCEPT, content::EVENT_STREAM);
    found
}

/// The headers of a request without a body.
pub(super) fn of_session(base: &HeaderMap, revision: Option<Revision>, session: Option<&HeaderValue>) -> HeaderMap {
    let mut found = base.clone();
    found.remove(header::CONTENT_TYPE);
    put_session(&mut found, revision, session);
    found
}

fn put_session(found: &mut HeaderMap, revision: Option<Revision>, session: Option<&HeaderValue>) {
    if let Some(revision) = revision.filter(|revision| revision.supports(RevisionFeature::VersionHeader)) {
        found.insert(headers::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
    }
    if let Some(session) = session {
        found.insert(headers::SESSION_ID, session.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::RequestId;

    fn headers_of(revision: Option<Revision>, session: Option<&'static str>, name: &str) -> HeaderMap {
        let request = RequestHead {
            trace: None,
            unattended: false,
            id: RequestId::from(1),
            method: "tools/call".into(),
            name: Some(name.into()),
            parameters: vec![("Region".into(), " x".into())],
            revision,
        };
        let caller = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"))]);
        of_message(&of_posts(caller), revision, session.map(HeaderValue::from_static).as_ref(), Some(&request)).unwrap()
    }

    #[test]
    fn http_08_every_post_accepts_both_forms_and_carries_the_callers_headers() {
        let found = headers_of(None, None, "x");
        assert_eq!(found[header::ACCEPT], "application/json, text/event-stream");
        assert_eq!(found[header::CONTENT_TYPE], "application/json");
        assert_eq!(found[header::AUTHORIZATION], "Bearer x");
        assert_eq!(found[header::ACCEPT_ENCODING], "identity");
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn http_51_the_version_header_where_the_revision_has_it() {
        for (revision, sent) in [
            (Revision::V2024_11_05, false),
            (Revision::V2025_03_26, false),
            (Revision::V2025_06_18, true),
            (Revision::V2025_11_25, true),
        ] {
            let found = headers_of(Some(revision), Some("s"), "x");
            assert_eq!(found.get(headers::PROTOCOL_VERSION).is_some_and(|value| value == revision.as_str()), sent);
            assert_eq!(found[headers::SESSION_ID], "s");
            assert!(!found.contains_key(headers::METHOD) && !found.contains_key(headers::NAME));
        }
    }

    #[test]
    fn h26_01_to_03_modern_requests_are_mirrored() {
        let found = headers_of(Some(Revision::V2026_07_28), None, "größe");
        assert_eq!(found[headers::PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(found[headers::METHOD], "tools/call");
        assert_eq!(found[headers::NAME], "=?base64?Z3LDtsOfZQ==?=");
        assert!(!found.contains_key(headers::SESSION_ID));
    }
}
