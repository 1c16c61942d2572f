//! The legacy era: `initialize` opens a session and fixes its revision and capabilities.

use super::RequestInfo;
use crate::protocol::{Era, RawJson, Revision, RpcError, meta::ProgressToken};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{json, value::RawValue};
use std::{borrow::Cow, collections::BTreeMap};

/// The revision and client that `initialize` fixed. Serialized as JSON, it is shared between the
/// processes that serve a session.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LegacyTerms {
    #[serde(rename = "protocolVersion", serialize_with = "write_name", deserialize_with = "read_name")]
    pub(crate) revision: Revision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client_info: Option<RawJson>,
    #[serde(rename = "capabilities")]
    pub(crate) client_capabilities: RawJson,
}

pub(super) fn write_name<S: Serializer>(revision: &Revision, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(revision.as_str())
}

fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Revision, D::Error> {
    let name = String::deserialize(deserializer)?;
    let revision = Revision::parse(&name).filter(|revision| revision.era() == Era::Legacy);
    revision.ok_or_else(|| D::Error::custom(format!("no revision with sessions: {name:?}")))
}

/// Maximum size of a client's description, which is kept for the whole session outside of other
/// limits: a client may have a thousand sessions. Icons, which may be data URIs, are left out of
/// a larger one. It is smaller under Miri, which takes minutes to read that much.
pub(super) const MAX_KEPT: usize = if cfg!(miri) { 4 << 10 } else { 64 << 10 };

#[derive(Deserialize)]
struct InitializeParams<'a> {
    #[serde(rename = "protocolVersion")]
    protocol_version: Option<String>,
    #[serde(borrow)]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "clientInfo")]
    client_info: Option<&'a RawValue>,
}

impl LegacyTerms {
    /// Opens a session from the parameters of `initialize`. Uses the offered revision if it belongs
    /// to this era, and otherwise the newest one of this era (LIFE-08, LIFE-09).
    pub(crate) fn open(params: Option<&RawJson>) -> Result<Self, RpcError> {
        let missing = |field: &str| RpcError::invalid_params(format!("initialize needs the parameter {field}"));
        let raw = params.ok_or_else(|| missing("protocolVersion"))?;
        let params: InitializeParams<'_> =
            raw.read().map_err(|problem| RpcError::invalid_params(format!("initialize: {problem}")))?;
        let offered = params.protocol_version.ok_or_else(|| missing("protocolVersion"))?;
        let capabilities = params.capabilities.ok_or_else(|| missing("capabilities"))?;
        let client_info = params.client_info.ok_or_else(|| missing("clientInfo"))?;
        if !capabilities.get().starts_with('{') || !client_info.get().starts_with('{') {
            return Err(RpcError::invalid_params("initialize: capabilities and clientInfo must be objects"));
        }
        let is_small = |client_info: &str| client_info.len() + capabilities.get().len() <= MAX_KEPT;
        let client_info = match is_small(client_info.get()) {
            true => Cow::Borrowed(client_info.get()),
            false => Cow::Owned(without_icons(client_info)?),
        };
        if !is_small(&client_info) {
            let text = format!("initialize: capabilities and clientInfo have more than {MAX_KEPT} bytes");
            return Err(RpcError::invalid_params(text));
        }
        // Copied, so that the session does not keep the whole message alive.
        let kept = |text: &str| match text {
            "{}" => RawJson::empty_object(),
            text => RawJson::trusted(Bytes::copy_from_slice(text.as_bytes())),
        };
        let (client_info, client_capabilities) = (Some(kept(&client_info)), kept(capabilities.get()));
        Ok(Self { revision: answer_to(&offered), client_info, client_capabilities })
    }

    /// The session assumed by a server without sessions: the revision from the header and no
    /// capabilities.
    pub(crate) fn stateless(revision: Revision) -> Self {
        Self { revision, client_info: None, client_capabilities: RawJson::empty_object() }
    }

    pub(crate) fn info(&self, meta: Option<RawJson>, progress_token: Option<ProgressToken>) -> RequestInfo {
        RequestInfo {
            revision: self.revision,
            client_info: self.client_info.clone(),
            client_capabilities: self.client_capabilities.clone(),
            meta,
            progress_token,
            log_level: None,
            mirrored: None,
            auth: None,
        }
    }
}

fn without_icons(client_info: &RawValue) -> Result<String, RpcError> {
    let wrong = |problem| RpcError::invalid_params(format!("initialize: clientInfo: {problem}"));
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(client_info.get()).map_err(wrong)?;
    members.remove("icons");
    serde_json::to_string(&members).map_err(wrong)
}

fn answer_to(offered: &str) -> Revision {
    Revision::parse(offered).filter(|revision| revision.era() == Era::Legacy).unwrap_or(Revision::LATEST_LEGACY)
}

/// The error for a request before `initialize` (docs/versions.md, 2.2, step 5). It has the code for
/// a modern request without its version and lists all versions, so that clients of both eras can
/// recover.
pub(crate) fn not_initialized(method: &str) -> RpcError {
    let supported: Vec<_> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
    RpcError::invalid_params(format!(
        "{method} needs a session opened by initialize, or the protocol version in its _meta"
    ))
    .with_data(json!({"supported": supported}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn life_08_and_09_the_answered_version() {
        for (offered, answered) in [
            ("2024-11-05", Revision::V2024_11_05),
            ("2025-11-25", Revision::V2025_11_25),
            ("2026-07-28", Revision::LATEST_LEGACY),
            ("1999-01-01", Revision::LATEST_LEGACY),
            ("", Revision::LATEST_LEGACY),
        ] {
            assert_eq!(answer_to(offered), answered, "{offered}");
        }
    }

    #[test]
    fn initialize_names_the_parameter_that_is_missing() {
        let open = |text: &'static str| LegacyTerms::open(Some(&RawJson::from_text(text.into()).unwrap()));
        for (text, missing) in [
            (r#"{}"#, "protocolVersion"),
            (r#"{"protocolVersion":"2025-06-18"}"#, "capabilities"),
            (r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#, "clientInfo"),
            (r#"{"protocolVersion":"2025-06-18","capabilities":[],"clientInfo":{}}"#, "objects"),
        ] {
            let error = open(text).unwrap_err();
            assert!(error.code == -32602 && error.message.contains(missing), "{error}");
        }
        assert!(LegacyTerms::open(None).is_err());
    }
}
