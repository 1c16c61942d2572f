//! The per-request era: every request carries its version and capabilities, and HTTP headers mirror
//! parts of its body.

use super::request_info::{MirroredParameters, RequestInfo};
use crate::protocol::{
    Era, RawJson, Revision, RpcError,
    envelope::Request,
    members::{MemberValue, MembersFound},
    meta::{self, RequestMeta},
    method::Method,
    model::LoggingLevel,
};
use std::sync::Arc;

/// The decoded mirror headers of a request. They are compared with the body here (H26-01..08).
#[derive(Debug, Clone, Default)]
pub struct Mirror {
    /// `MCP-Protocol-Version`
    pub version: Option<String>,
    /// `Mcp-Method`
    pub method: Option<String>,
    /// `Mcp-Name`, decoded; an error if it cannot be decoded.
    pub name: Option<Result<String, String>>,
    /// `Mcp-Param-*`
    pub parameters: Arc<MirroredParameters>,
}

/// Checks a request in the order of docs/versions.md, 2.2, except for its method, which comes last,
/// and returns its origin. `name` is the parameter that `Mcp-Name` mirrors, if the method has one.
pub(crate) fn check(
    request: &Request,
    name: MembersFound<'_, 1>,
    raw_meta: Option<MemberValue<'_>>,
    meta: &RequestMeta<'_>,
    mirror: Option<&Mirror>,
) -> Result<RequestInfo, RpcError> {
    let version = meta.version().ok_or_else(|| {
        RpcError::invalid_params(format!("The request's _meta needs {} as a string", meta::PROTOCOL_VERSION))
    })?;
    if let Some(mirror) = mirror {
        compare("MCP-Protocol-Version", mirror.version.as_deref(), &version)?;
    }
    let revision = Revision::parse(&version)
        .filter(|revision| revision.era() == Era::Modern)
        .ok_or_else(|| RpcError::unsupported_version(&version))?;
    let buffer = request.params.as_ref().map(RawJson::buffer).ok_or_else(RpcError::internal)?;
    let object = |key: &str, raw: Option<MemberValue<'_>>| match raw {
        Some(raw) if raw.is_object() => Ok(Some(raw.in_buffer(buffer))),
        Some(_) => Err(RpcError::invalid_params(format!("The request's _meta has a {key} that is not an object"))),
        None => Ok(None),
    };
    let client_capabilities = object(meta::CLIENT_CAPABILITIES, meta.client_capabilities)?
        .ok_or_else(|| RpcError::invalid_params(format!("The request's _meta needs {}", meta::CLIENT_CAPABILITIES)))?;
    let client_info = object(meta::CLIENT_INFO, meta.client_info)?;
    let log_level = meta.log_level.map(read_level).transpose()?;
    if let Some(mirror) = mirror {
        compare("Mcp-Method", mirror.method.as_deref(), &request.method)?;
        compare_name(mirror, request, name)?;
    }
    Ok(RequestInfo {
        revision,
        client_info,
        client_capabilities,
        meta: raw_meta.map(|raw| raw.in_buffer(buffer)),
        progress_token: meta.token(),
        log_level,
        mirrored: mirror.map(|mirror| Arc::clone(&mirror.parameters)),
        auth: None,
    })
}

/// LOG-06
fn read_level(raw: MemberValue<'_>) -> Result<LoggingLevel, RpcError> {
    raw.parse().map_err(|_| {
        let level = String::from_utf8_lossy(raw.as_bytes());
        RpcError::invalid_params(format!("The request's _meta has an unknown {}: {level}", meta::LOG_LEVEL))
    })
}

fn compare(header: &str, value: Option<&str>, body: &str) -> Result<(), RpcError> {
    let problem = match value {
        Some(value) if value == body => return Ok(()),
        Some(value) => format!("is {value:?}, but the body says {body:?}"),
        None => format!("is missing; the body says {body:?}"),
    };
    Err(RpcError::header_mismatch(format!("The header {header} {problem}")))
}

fn compare_name(mirror: &Mirror, request: &Request, name: MembersFound<'_, 1>) -> Result<(), RpcError> {
    if Method::name_parameter(&request.method).is_none() {
        return Ok(());
    }
    // With two names, it is unclear which one the header repeats.
    let [name] = name.map_err(|problem| RpcError::invalid_params(problem.to_string()))?;
    let Some(name) = name.and_then(MemberValue::as_str) else {
        // The method's own validation names the missing parameter, which is more helpful.
        return Ok(());
    };
    let value = mirror.name.as_ref().map(|value| value.as_deref()).transpose();
    let value = value.map_err(|problem| RpcError::header_mismatch(format!("The header Mcp-Name {problem}")))?;
    compare("Mcp-Name", value, &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Limits,
        protocol::envelope::{Frame, Message},
    };
    use serde_json::{Value, json};

    fn request(method: &str, params: Value) -> Request {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        match Frame::parse(&text.into(), Limits::default().frame()) {
            Frame::Single(Ok(Message::Request(request))) => request,
            other => panic!("{other:?}"),
        }
    }

    fn code(method: &str, params: Value, mirror: Option<&Mirror>) -> i64 {
        let request = request(method, params);
        let (name, raw, meta) = RequestMeta::beside(["name"], request.params.as_ref());
        check(&request, name, raw, &meta, mirror).map_or_else(|error| error.code, |_| 0)
    }

    fn full() -> Value {
        json!({"name": "x", "_meta": {meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {}}})
    }

    #[test]
    fn disc_11_and_12_the_order_of_the_checks() {
        let with = |key: &str, value: Value| {
            let mut params = full();
            params["_meta"][key] = value;
            params
        };
        assert_eq!(code("tools/call", full(), None), 0);
        assert_eq!(code("tools/call", json!({}), None), -32602);
        assert_eq!(code("tools/call", with(meta::PROTOCOL_VERSION, json!(5)), None), -32602);
        assert_eq!(code("tools/call", with(meta::PROTOCOL_VERSION, Value::Null), None), -32602);
        assert_eq!(code("tools/call", with(meta::PROTOCOL_VERSION, json!("2025-11-25")), None), -32022);
        assert_eq!(code("tools/call", with(meta::PROTOCOL_VERSION, json!("2099-01-01")), None), -32022);
        assert_eq!(code("tools/call", with(meta::CLIENT_CAPABILITIES, json!([])), None), -32602);
        assert_eq!(code("tools/call", with(meta::CLIENT_INFO, json!("me")), None), -32602);
        assert_eq!(code("nonsense", json!({"_meta": {meta::PROTOCOL_VERSION: "2026-07-28"}}), None), -32602);
    }

    #[test]
    fn h26_08_a_body_with_two_names_agrees_with_no_header() {
        let meta = full()["_meta"].take();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","n\u0061me":"y","_meta":{meta}}}}}"#
        );
        let Frame::Single(Ok(Message::Request(request))) = Frame::parse(&text.into(), Limits::default().frame()) else {
            panic!("it is a request")
        };
        let (found, raw, meta) = RequestMeta::beside(["name"], request.params.as_ref());
        for name in ["x", "y"] {
            let mirror = Mirror {
                version: Some("2026-07-28".into()),
                method: Some("tools/call".into()),
                name: Some(Ok(name.into())),
                parameters: Arc::default(),
            };
            let error = check(&request, found.clone(), raw, &meta, Some(&mirror)).unwrap_err();
            assert_eq!((error.code, &*error.message), (-32602, "the member name is there twice"));
        }
    }

    #[test]
    fn h26_08_headers_must_agree_with_the_body() {
        let good = Mirror {
            version: Some("2026-07-28".into()),
            method: Some("tools/call".into()),
            name: Some(Ok("x".into())),
            parameters: Arc::default(),
        };
        assert_eq!(code("tools/call", full(), Some(&good)), 0);
        for bad in [
            Mirror { version: None, ..good.clone() },
            Mirror { version: Some("2025-11-25".into()), ..good.clone() },
            Mirror { method: None, ..good.clone() },
            Mirror { method: Some("Tools/Call".into()), ..good.clone() },
            Mirror { name: None, ..good.clone() },
            Mirror { name: Some(Ok("y".into())), ..good.clone() },
            Mirror { name: Some(Err("is not Base64".into())), ..good.clone() },
        ] {
            assert_eq!(code("tools/call", full(), Some(&bad)), -32020, "{bad:?}");
        }
        // A missing key is never reported as a mismatch, and the comparison comes before an
        // unsupported version.
        assert_eq!(code("tools/call", json!({}), Some(&good)), -32602);
    }
}
