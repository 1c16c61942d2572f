//! Parameters of a client's requests: its identity, projected to the revision, and `_meta`.

use super::outgoing::one_line;
use crate::protocol::{
    Era, RawJson, RequestId, Revision, RpcError, extension::Extension, members::members, meta, method,
    model::LoggingLevel, project,
};
use indexmap::IndexMap;
use serde_json::{Value, json, value::RawValue};
use std::borrow::Cow;

/// The id or token in a member of the parameters.
pub(super) fn id_in(params: &RawJson, member: &str) -> Option<RequestId> {
    let [id] = members(params.as_bytes(), [member]).ok()?;
    id?.id()
}

/// The identity of the client, as configured.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// The Implementation object.
    pub info: RawJson,
    /// The capabilities object.
    pub capabilities: RawJson,
}

impl ClientIdentity {
    /// The part that exists in this revision.
    pub(super) fn at(&self, revision: Revision) -> Self {
        Self {
            info: projected(&self.info, revision, project::project_implementation),
            capabilities: projected(&self.capabilities, revision, project::project_client_capabilities),
        }
    }

    /// Returns whether the capabilities declare an extension.
    pub(super) fn declares(&self, extension: &Extension) -> bool {
        self.capabilities.parse().is_ok_and(|capabilities| extension.is_in(&capabilities))
    }

    /// The same identity with an extension added to its capabilities.
    pub(super) fn declaring(&self, extension: &Extension) -> Self {
        if self.declares(extension) {
            return self.clone();
        }
        let mut capabilities: Value = self.capabilities.parse().unwrap_or_default();
        if !capabilities["extensions"].is_object() {
            capabilities["extensions"] = json!({});
        }
        capabilities["extensions"][extension.id] = json!({});
        let capabilities = RawJson::from_value(&capabilities).unwrap_or_else(|_| self.capabilities.clone());
        Self { info: self.info.clone(), capabilities }
    }

    /// The parameters of `initialize` (LIFE-01).
    pub(super) fn initialize_params(&self, revision: Revision) -> String {
        let Self { info, capabilities } = self;
        format!(r#"{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{info}}}"#)
    }

    /// The `_meta` members of a request; in the modern era they include the client's identity
    /// (DISC-06..08).
    pub(super) fn meta(
        &self,
        revision: Revision,
        token: Option<&RequestId>,
        level: Option<LoggingLevel>,
    ) -> Option<String> {
        let token = token.map(|token| format!(r#""{}":{token}"#, meta::PROGRESS_TOKEN));
        if revision.era() == Era::Legacy {
            return token;
        }
        let Self { info, capabilities } = self;
        let (version, client, can) = (meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES);
        let token = token.map(|token| format!(",{token}")).unwrap_or_default();
        let level = level.map(|level| format!(r#","{}":"{level}""#, meta::LOG_LEVEL)).unwrap_or_default();
        Some(format!(r#""{version}":"{revision}","{client}":{info},"{can}":{capabilities}{level}{token}"#))
    }
}

fn projected(json: &RawJson, revision: Revision, project: fn(&mut Value, Revision)) -> RawJson {
    let value = json.parse::<Value>().and_then(|mut value| {
        project(&mut value, revision);
        RawJson::from_value(&value)
    });
    value.unwrap_or_else(|_| json.clone())
}

/// The parameters of a request or notification as sent: projected to the revision, on one line,
/// with these members in `_meta`.
pub(super) fn sent(
    method: &str,
    revision: Revision,
    params: Option<&RawJson>,
    meta: Option<&str>,
) -> Result<Option<Vec<u8>>, RpcError> {
    if params.is_some_and(|params| !is_object(params)) {
        return Err(RpcError::invalid_params("The params must be an object"));
    }
    let params = params.map(|params| match method {
        method::COMPLETION_COMPLETE => Cow::Owned(projected(params, revision, project::project_complete_params)),
        _ => Cow::Borrowed(params),
    });
    let text = match (params, meta) {
        (None, None) => return Ok(None),
        (None, Some(meta)) => format!(r#"{{"_meta":{{{meta}}}}}"#).into_bytes(),
        (Some(params), None) => params.as_bytes().to_vec(),
        (Some(params), Some(meta)) => with_meta(&params, meta)?,
    };
    let lined = match one_line(&text) {
        Cow::Owned(lined) => Some(lined),
        Cow::Borrowed(_) => None,
    };
    Ok(Some(lined.unwrap_or(text)))
}

pub(super) fn is_object(json: &RawJson) -> bool {
    json.as_bytes().trim_ascii_start().starts_with(b"{")
}

fn with_meta(params: &RawJson, meta: &str) -> Result<Vec<u8>, RpcError> {
    let [own] = members(params.as_bytes(), ["_meta"])
        .map_err(|problem| RpcError::invalid_params(format!("The params: {problem}")))?;
    if own.is_some() {
        return merged(params, meta);
    }
    // The object's own members follow ours. This is the common case, and nothing is parsed twice.
    let members = params.as_bytes().trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    let comma = if members.trim_ascii_start().starts_with(b"}") { "" } else { "," };
    Ok([br#"{"_meta":{"#, meta.as_bytes(), b"}", comma.as_bytes(), members].concat())
}

/// Merges our members into the caller's `_meta`, which keeps its order. Ours take precedence.
fn merged(params: &RawJson, meta: &str) -> Result<Vec<u8>, RpcError> {
    let wrong = |_| RpcError::invalid_params("The member _meta of the params must be an object");
    // Keys may contain escapes, so they cannot be borrowed.
    let mut members: IndexMap<String, &RawValue> = params.parse().map_err(wrong)?;
    let ours = format!("{{{meta}}}");
    let ours: IndexMap<String, &RawValue> = serde_json::from_str(&ours).map_err(wrong)?;
    let mut all: IndexMap<String, &RawValue> =
        members.get("_meta").map_or(Ok(IndexMap::new()), |raw| serde_json::from_str(raw.get())).map_err(wrong)?;
    all.extend(ours);
    let all = serde_json::value::to_raw_value(&all).map_err(wrong)?;
    members.insert("_meta".into(), &all);
    serde_json::to_vec(&members).map_err(wrong)
}
