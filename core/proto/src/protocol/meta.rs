//! The `_meta` object of requests: version, capabilities, identity and progress token.

use super::{
    RawJson, RequestId,
    members::{MemberValue, MembersFound, members_at_both_depths},
};
use std::borrow::Cow;

/// Key of the protocol version of a modern request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Key of the client's capabilities.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of the client's identity.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Key of the server's identity on results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Key of the subscription that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Key of the minimum log level that a request asks for.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Key of the task that a message belongs to (2025-11-25 only).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// Keys of the trace context (SEP-414), which are exempt from the rule that keys have a prefix.
pub const TRACEPARENT: &str = "traceparent";
/// As above.
pub const TRACESTATE: &str = "tracestate";
/// As above.
pub const BAGGAGE: &str = "baggage";
/// Key of the progress token.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// Identifies the progress of one request: a string or an integer, as for ids.
pub type ProgressToken = RequestId;

/// The keys of a request's `_meta` that the protocol defines, unparsed.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestMeta<'a> {
    /// The version of a modern request.
    pub protocol_version: Option<MemberValue<'a>>,
    /// The capabilities of a modern request.
    pub client_capabilities: Option<MemberValue<'a>>,
    /// The identity of the client.
    pub client_info: Option<MemberValue<'a>>,
    /// The log level of a modern request.
    pub log_level: Option<MemberValue<'a>>,
    /// The token for progress notifications.
    pub progress_token: Option<MemberValue<'a>>,
}

impl<'a> RequestMeta<'a> {
    /// Reads the `_meta` of parameters. Anything but an object counts as absent: the method's own
    /// check rejects it.
    pub fn of(params: Option<&'a RawJson>) -> (Option<MemberValue<'a>>, Self) {
        let (_, raw, meta) = Self::beside([], params);
        (raw, meta)
    }

    /// As [`Self::of`], and finds other members of the parameters in the same pass.
    pub(crate) fn beside<const N: usize>(
        names: [&str; N],
        params: Option<&'a RawJson>,
    ) -> (MembersFound<'a, N>, Option<MemberValue<'a>>, Self) {
        let keys = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN];
        let params = params.map_or(&b"{}"[..], RawJson::as_bytes);
        let (beside, found) = members_at_both_depths(params, names, "_meta", keys);
        let Ok(Some((raw, found))) = found else { return (beside, None, Self::default()) };
        let [protocol_version, client_capabilities, client_info, log_level, progress_token] = found.unwrap_or_default();
        let meta = Self { protocol_version, client_capabilities, client_info, log_level, progress_token };
        (beside, Some(raw), meta)
    }

    /// The version, if it is a string.
    pub fn version(&self) -> Option<Cow<'a, str>> {
        self.protocol_version?.as_str()
    }

    /// The progress token, if it is a string or an integer.
    pub fn token(&self) -> Option<ProgressToken> {
        self.progress_token?.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// Every key in this file, on its side of the marker.
    fn our_keys() -> Vec<&'static str> {
        let source = include_str!("meta.rs").split("mod tests").next().unwrap_or_default();
        let constants = source.lines().filter(|line| line.starts_with("pub const ") && line.contains(": &str"));
        constants.filter_map(|line| line.split('"').nth(1)).collect()
    }

    #[test]
    fn rpc_34_and_35_our_keys_are_well_formed() {
        let keys = our_keys();
        assert!(keys.contains(&PROTOCOL_VERSION) && keys.contains(&PROGRESS_TOKEN), "{keys:?}");
        let begins_and_ends = |text: &str, first: fn(&u8) -> bool| {
            text.as_bytes().first().is_some_and(first) && text.as_bytes().last().is_some_and(u8::is_ascii_alphanumeric)
        };
        for key in keys {
            let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
            for label in prefix.into_iter().flat_map(|prefix| prefix.split('.')) {
                assert!(begins_and_ends(label, u8::is_ascii_alphabetic), "{key}: {label}");
                assert!(label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{key}: {label}");
            }
            assert!(begins_and_ends(name, u8::is_ascii_alphanumeric), "{key}: {name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)), "{key}: {name}");
        }
    }

    #[test]
    fn meta_is_read_without_copies() {
        let params = RawJson::trusted(Bytes::from_static(
            br#"{"name":"x","_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","other":1}}"#,
        ));
        let (_, meta) = RequestMeta::of(Some(&params));
        assert_eq!(meta.version().as_deref(), Some("2026-07-28"));
        assert_eq!(meta.token(), Some(RequestId::from("t")));
        assert!(RequestMeta::of(None).1.protocol_version.is_none());
        let array = RawJson::trusted(Bytes::from_static(br#"{"_meta":["2026-07-28",{}]}"#));
        assert!(RequestMeta::of(Some(&array)).1.protocol_version.is_none());
    }
}
