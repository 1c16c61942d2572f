//! Classifies a POST: its era, or why it is refused.

use super::rejection::Rejection;
use crate::engine::Claim;
use crate::protocol::{
    Era, Revision, RevisionFeature, RpcError,
    envelope::{Frame, Message, NoResult, Request, Response},
    meta::RequestMeta,
    method,
};
use http::StatusCode;
use serde_json::json;

/// A valid body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// A request of the modern era. `streams` is set if it asks for a stream, whatever the server
    /// prefers.
    Modern {
        /// `subscriptions/listen`
        streams: bool,
    },
    /// A notification of the modern era. It is accepted but ignored, because none is defined for
    /// HTTP.
    ModernNotification,
    /// `initialize` of the legacy era.
    Handshake,
    /// Any other message of the legacy era.
    Legacy,
    /// An array, in revision 2025-03-26.
    Batch,
}

/// Classifies a body. `version` is the header `MCP-Protocol-Version`.
pub fn classify(frame: &Frame, version: Option<&str>) -> Result<Posted, Rejection> {
    let modern_header = has_modern_version(version);
    match frame {
        Frame::Single(Err(malformed)) => Err(Rejection::bad_request(malformed.id.as_ref(), &malformed.error)),
        Frame::Single(Ok(Message::Request(request))) => Ok(request_kind(request, version)),
        Frame::Single(Ok(Message::Notification(notification))) => {
            let (_, meta) = RequestMeta::of(notification.params.as_ref());
            match version {
                Some(version) if modern_header && Revision::parse(version).is_none() => {
                    Err(Rejection::bad_request(None, &RpcError::unsupported_version(version)))
                }
                _ if modern_header || meta.protocol_version.is_some() => Ok(Posted::ModernNotification),
                _ => Ok(Posted::Legacy),
            }
        }
        Frame::Single(Ok(Message::Response(_))) if modern_header => {
            Err(Rejection::of_http(StatusCode::BAD_REQUEST, "Clients of this revision send no responses"))
        }
        Frame::Single(Ok(Message::Response(_))) => Ok(Posted::Legacy),
        Frame::Batch(_) => {
            let misplaced = frame.requests().any(|request| request_kind(request, None) != Posted::Legacy);
            if modern_header || misplaced {
                return Err(Rejection::of_http(
                    StatusCode::BAD_REQUEST,
                    "Batches are only supported in revision 2025-03-26, and must not contain initialize or requests of other revisions",
                ));
            }
            Ok(Posted::Batch)
        }
    }
}

/// Returns whether the header `MCP-Protocol-Version` names something other than a legacy revision.
pub fn has_modern_version(version: Option<&str>) -> bool {
    version.is_some_and(|version| Era::named(version) == Era::Modern)
}

fn request_kind(request: &Request, version: Option<&str>) -> Posted {
    match Claim::of(request, || RequestMeta::of(request.params.as_ref()).1, version) {
        Claim::Handshake => Posted::Handshake,
        Claim::Modern => Posted::Modern { streams: &*request.method == method::SUBSCRIPTIONS_LISTEN },
        Claim::Legacy => Posted::Legacy,
    }
}

/// The revision that a legacy version header selects; without one it is 2025-03-26 (HTTP-52,
/// HTTP-53).
pub fn legacy_revision(frame: Option<&Frame>, version: Option<&str>) -> Result<Revision, Rejection> {
    let Some(version) = version else { return Ok(Revision::HEADERLESS) };
    Revision::parse(version).filter(|revision| revision.era() == Era::Legacy).ok_or_else(|| {
        // A request without a body belongs to a session, which has a legacy revision.
        let of_here = |revision: &&Revision| frame.is_some() || revision.era() == Era::Legacy;
        let supported: Vec<_> = Revision::ALL.iter().rev().filter(of_here).map(|revision| revision.as_str()).collect();
        let text = match frame {
            Some(_) => format!("Unsupported MCP-Protocol-Version: {version:?}"),
            None => format!("Unsupported MCP-Protocol-Version for a session: {version:?}"),
        };
        let error = RpcError::invalid_request(text).with_data(json!({"supported": supported}));
        Rejection::bad_request(frame.and_then(id_of), &error)
    })
}

/// Checks that a revision allows arrays (RPC-14).
pub fn check_batch(revision: Option<Revision>) -> Result<(), Rejection> {
    if revision.is_some_and(|revision| revision.supports(RevisionFeature::Batches)) {
        return Ok(());
    }
    Err(Rejection::of_http(StatusCode::BAD_REQUEST, "Batches are only supported in revision 2025-03-26"))
}

/// HTTP-12: an invalid response fails its request, and its sender gets the reason.
pub fn check_response(frame: &Frame) -> Result<(), Rejection> {
    match frame {
        Frame::Single(Ok(Message::Response(Response { outcome: Err(NoResult::InvalidResponse(problem)), .. }))) => {
            Err(Rejection::of_http(StatusCode::BAD_REQUEST, problem))
        }
        _ => Ok(()),
    }
}

/// The error for a message without the session that it needs (HTTP-46). It has the code for a
/// modern request without its version, so that clients of both eras can recover.
pub fn no_session(frame: &Frame) -> Rejection {
    let supported: Vec<_> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
    let error = RpcError::invalid_params(
        "The message needs the header Mcp-Session-Id of a session opened by initialize, or the protocol version in its _meta",
    )
    .with_data(json!({"supported": supported}));
    Rejection::bad_request(id_of(frame), &error)
}

/// The error for a session that does not exist, or no longer exists (HTTP-47).
pub fn unknown_session(frame: Option<&Frame>) -> Rejection {
    let error =
        RpcError::invalid_request("The session has ended or does not exist: initialize again without Mcp-Session-Id");
    Rejection::new(StatusCode::NOT_FOUND, frame.and_then(id_of), &error)
}

/// The error for an event from which a stream cannot be resumed (HTTP-38).
pub fn unknown_event() -> Rejection {
    Rejection::of_http(
        StatusCode::BAD_REQUEST,
        "The Last-Event-ID belongs to no stream of this session, or later events are no longer kept: request a stream without it",
    )
}

/// The ids of all requests in a frame.
pub fn ids_of(frame: &Frame) -> Vec<crate::protocol::RequestId> {
    frame.requests().map(|request| request.id.clone()).collect()
}

/// The id of the only request in a frame.
pub fn id_of(frame: &Frame) -> Option<&crate::protocol::RequestId> {
    match frame {
        Frame::Single(Ok(Message::Request(request))) => Some(&request.id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Limits;
    use serde_json::Value;

    const VERSION: &str = crate::protocol::meta::PROTOCOL_VERSION;

    fn frame(value: &Value) -> Frame {
        Frame::parse(&value.to_string().into(), Limits::default().frame())
    }

    fn request(method: &str, meta: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": meta}})
    }

    fn kind(value: Value, version: Option<&str>) -> Result<Posted, (u16, i64)> {
        classify(&frame(&value), version).map_err(|rejection| {
            let body: Value = serde_json::from_slice(&rejection.body).unwrap();
            (rejection.status.as_u16(), body["error"]["code"].as_i64().unwrap())
        })
    }

    #[test]
    fn the_era_belongs_to_the_message() {
        let modern = json!({VERSION: "2026-07-28"});
        let plain = Ok(Posted::Modern { streams: false });
        assert_eq!(kind(request("tools/list", modern.clone()), Some("2026-07-28")), plain);
        assert_eq!(kind(request("tools/list", modern.clone()), None), plain);
        assert_eq!(kind(request("tools/list", modern.clone()), Some("2025-06-18")), plain);
        assert_eq!(kind(request("tools/list", json!({VERSION: 5})), None), plain);
        assert_eq!(kind(request("tools/list", json!({})), Some("2026-07-28")), plain);
        assert_eq!(kind(request("tools/list", json!({})), Some("2099-01-01")), plain);
        assert_eq!(kind(request("server/discover", json!({})), None), plain);
        assert_eq!(kind(request("subscriptions/listen", modern), None), Ok(Posted::Modern { streams: true }));
        for version in [None, Some("2025-11-25"), Some("2024-11-05")] {
            assert_eq!(kind(request("tools/list", json!({})), version), Ok(Posted::Legacy));
        }
    }

    #[test]
    fn initialize_is_legacy_whatever_the_headers_say() {
        for version in [None, Some("2025-11-25"), Some("2026-07-28"), Some("nonsense")] {
            assert_eq!(kind(request("initialize", json!({})), version), Ok(Posted::Handshake));
            assert_eq!(kind(request("initialize", json!({VERSION: "2025-06-18"})), version), Ok(Posted::Handshake));
            let modern = request("initialize", json!({VERSION: "2026-07-28"}));
            assert_eq!(kind(modern, version), Ok(Posted::Modern { streams: false }));
        }
    }

    #[test]
    fn notifications_and_responses_of_both_eras() {
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        assert_eq!(kind(notification.clone(), None), Ok(Posted::Legacy));
        assert_eq!(kind(response.clone(), Some("2025-06-18")), Ok(Posted::Legacy));
        assert_eq!(kind(notification.clone(), Some("2026-07-28")), Ok(Posted::ModernNotification));
        assert_eq!(kind(notification, Some("2099-01-01")), Err((400, -32022)));
        assert_eq!(kind(response, Some("2026-07-28")), Err((400, -32600)));
    }

    #[test]
    fn rpc_14_arrays_hold_only_legacy_messages() {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(kind(json!([ping, ping]), None), Ok(Posted::Batch));
        assert_eq!(kind(json!([ping]), Some("2026-07-28")), Err((400, -32600)));
        assert_eq!(kind(json!([ping, request("initialize", json!({}))]), None), Err((400, -32600)));
        assert_eq!(kind(json!([ping, request("ping", json!({VERSION: "2026-07-28"}))]), None), Err((400, -32600)));
        assert_eq!(kind(json!([]), None), Err((400, -32600)));
        assert!(check_batch(Some(Revision::V2025_03_26)).is_ok());
        assert!(check_batch(Some(Revision::V2025_06_18)).is_err());
        assert!(check_batch(None).is_err());
    }

    #[test]
    fn malformed_bodies_are_400_with_the_error() {
        assert_eq!(kind(json!(5), None), Err((400, -32600)));
        let broken = Frame::parse(&bytes::Bytes::from_static(b"{"), Limits::default().frame());
        let rejection = classify(&broken, None).unwrap_err();
        assert_eq!(rejection.status.as_u16(), 400);
        assert!(rejection.body.starts_with(br#"{"jsonrpc":"2.0","error":{"code":-32700"#));
    }

    #[test]
    fn http_46_http_47_http_52_http_53_sessions_and_versions() {
        let frame = frame(&request("tools/list", json!({})));
        assert_eq!(legacy_revision(Some(&frame), None).unwrap(), Revision::V2025_03_26);
        assert_eq!(legacy_revision(Some(&frame), Some("2025-06-18")).unwrap(), Revision::V2025_06_18);
        // A version that is not a date is not treated as a future revision.
        assert_eq!(kind(request("tools/list", json!({})), Some("draft")), Ok(Posted::Legacy));
        for version in ["2025-06-19", "", "2026-07-28", "draft"] {
            let rejection = legacy_revision(Some(&frame), Some(version)).unwrap_err();
            assert_eq!(rejection.status.as_u16(), 400);
            assert!(rejection.body.starts_with(br#"{"jsonrpc":"2.0","id":7,"#));
        }
        let supported = |frame| {
            let rejection = legacy_revision(frame, Some("2099-01-01")).unwrap_err();
            let body: Value = serde_json::from_slice(&rejection.body).unwrap();
            body["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28"))
        };
        assert!(supported(Some(&frame)) && !supported(None));
        assert_eq!(unknown_event().status.as_u16(), 400);
        assert_eq!(no_session(&frame).status.as_u16(), 400);
        assert_eq!(unknown_session(Some(&frame)).status.as_u16(), 404);
    }
}
