//! `requestState`: the state of one round for the next, sealed so that the client can only pass it
//! back (MRTR-06, MRTR-07).

mod canonical;
mod cipher;

use crate::{
    protocol::{RawJson, RpcError},
    random,
    server::handlers::{Answer, SealedInputRequest},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use cipher::Cipher;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// A secret that seals `requestState`: 32 cryptographically random bytes. Servers that share their
/// keys can continue each other's rounds.
///
/// ```
/// use trunkline::{ServerOptions, server::StateKey};
///
/// # let secret = [7; 32];
/// let options = ServerOptions::default().with_state_keys(vec![StateKey::new(secret)]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// Creates a key from these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    fn random() -> Option<Self> {
        random::bytes().map(Self)
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey(…)")
    }
}

/// The state passed from one round to the next.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StateContents {
    #[serde(rename = "r")]
    pub(super) round: u32,
    /// The requests of this round. Only these can be answered in the next.
    #[serde(rename = "q", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) requested: BTreeMap<String, SealedInputRequest>,
    #[serde(rename = "a", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) answers: BTreeMap<String, Answer>,
    #[serde(rename = "k", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) kept: BTreeMap<String, Value>,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<Value>,
    /// Keys of requests, with digests of those to which the handler gave none.
    #[serde(rename = "h", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) digests: BTreeMap<String, String>,
}

/// The contents, with the request that they are bound to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SealedState {
    /// Unique id of the state.
    #[serde(rename = "n")]
    pub(super) id: String,
    #[serde(rename = "p")]
    principal: String,
    /// Digest of the method and its parameters.
    #[serde(rename = "d")]
    digest: String,
    /// Milliseconds since the Unix epoch.
    #[serde(rename = "i")]
    issued: u64,
    #[serde(rename = "e")]
    pub(super) expires: u64,
    #[serde(rename = "c")]
    pub(super) contents: StateContents,
}

/// The context that a state is bound to, and the current time.
pub(super) struct Binding<'a> {
    /// The name of the server.
    pub(super) server: &'a str,
    /// The resource of the access token, if there is one: staging and production may be the same
    /// program, with the same name and keys.
    pub(super) resource: Option<&'a str>,
    pub(super) principal: String,
    pub(super) method: &'static str,
    pub(super) params: Option<&'a RawJson>,
    /// Since the Unix epoch.
    pub(super) now: Duration,
}

/// The first byte of every state.
const FORMAT_VERSION: u8 = 1;
const KEY_ID_LENGTH: usize = 8;
/// Maximum size, because the state is sent back and forth.
const MAX_SEALED: usize = 256 * 1024;

/// Seals and opens states.
pub(super) struct Sealer {
    keys: Vec<(Cipher, [u8; KEY_ID_LENGTH])>,
    /// True if the key is random and the warning about it has not been logged.
    warn: AtomicBool,
}

impl Sealer {
    /// The first key seals; any key opens. Without keys, uses a random one. If the system cannot
    /// generate it, calls that need to seal a state fail.
    pub(super) fn new(keys: &[StateKey]) -> Self {
        let random = if keys.is_empty() { StateKey::random() } else { None };
        let prepared = |key: &StateKey| {
            let sum: [u8; 32] = Sha256::digest(key.0).into();
            Some((Cipher::new(&key.0)?, *sum.first_chunk()?))
        };
        let warn = AtomicBool::new(keys.is_empty());
        Self { keys: keys.iter().chain(&random).filter_map(prepared).collect(), warn }
    }

    /// Warns once if the key is random, because only this process can open what it seals.
    pub(super) fn warn_of_random_key(&self) {
        if self.warn.swap(false, Ordering::Relaxed) {
            tracing::warn!(target: "trunkline::server::request_state", "requestState is sealed with a random key of this process: another instance, or this one after a restart, cannot open it. Set the server's state keys");
        }
    }

    /// Seals the contents for the next round of this request.
    pub(super) fn seal(
        &self,
        contents: &StateContents,
        binding: &Binding<'_>,
        lifetime: Duration,
    ) -> Result<String, RpcError> {
        let sealed = SealedState {
            id: random::unguessable().ok_or_else(RpcError::internal)?,
            principal: binding.principal.clone(),
            digest: digest_of(binding),
            issued: millis(binding.now),
            expires: millis(binding.now.saturating_add(lifetime)),
            contents: contents.clone(),
        };
        self.seal_text(&sealed).ok_or_else(|| {
            let reason = match cfg!(feature = "request-state") {
                true => format!("it is larger than {MAX_SEALED} bytes, or cannot be sealed"),
                false => "the cargo feature `request-state` is disabled".to_owned(),
            };
            tracing::error!(target: "trunkline::server::request_state", method = binding.method, error = reason, "could not seal the state of a request");
            RpcError::internal()
        })
    }

    fn seal_text(&self, sealed: &SealedState) -> Option<String> {
        let (key, id) = self.keys.first()?;
        let text = serde_json::to_vec(sealed).ok()?;
        if text.len() > MAX_SEALED {
            return None;
        }
        let mut head = vec![FORMAT_VERSION];
        head.extend_from_slice(id);
        let sealed = key.seal(&head, &text)?;
        Some(URL_SAFE_NO_PAD.encode([head, sealed].concat()))
    }

    /// Opens a state from an earlier round, if it belongs to this request.
    pub(super) fn open(&self, text: &str, binding: &Binding<'_>) -> Result<SealedState, RpcError> {
        let refused = |why: &str| RpcError::invalid_params(format!("{}: requestState {why}", binding.method));
        let sealed = self.open_text(text).ok_or_else(|| refused("was not made by this server, or was changed"))?;
        let now = millis(binding.now);
        if now >= sealed.expires {
            return Err(refused("has expired; call again without it"));
        }
        // Don't reveal which of them differs.
        if sealed.principal != binding.principal || sealed.digest != digest_of(binding) {
            return Err(refused("belongs to another request"));
        }
        Ok(sealed)
    }

    fn open_text(&self, text: &str) -> Option<SealedState> {
        // Base64 encodes three bytes as four characters.
        if text.len() > (MAX_SEALED + 64) / 3 * 4 {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (head, rest) = bytes.split_at_checked(1 + KEY_ID_LENGTH)?;
        if head[0] != FORMAT_VERSION {
            return None;
        }
        let (key, _) = self.keys.iter().find(|(_, id)| id == &head[1..])?;
        serde_json::from_slice(&key.open(head, rest)?).ok()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Digest of the server, the resource, the method, and the parameters except those that differ
/// between rounds.
fn digest_of(binding: &Binding<'_>) -> String {
    // Written as JSON, so that no name can look like another name followed by a method.
    let mut text = Value::from(binding.server).to_string().into_bytes();
    if let Some(resource) = binding.resource {
        text.extend_from_slice(Value::from(resource).to_string().as_bytes());
    }
    text.extend_from_slice(binding.method.as_bytes());
    text.push(b' ');
    if let Some(params) = binding.params.map(RawJson::as_bytes) {
        let object = std::str::from_utf8(params).ok();
        let passing = ["inputResponses", "requestState", "_meta"];
        if object.and_then(|object| canonical::write_members(object, &passing, &mut text)).is_none() {
            text.extend_from_slice(params);
        }
    }
    digest(text)
}

/// Digest of an object, whatever the order of its members.
pub(super) fn digest_of_json(object: &str) -> String {
    let mut text = Vec::new();
    canonical::write_members(object, &[], &mut text);
    digest(text)
}

/// Digest of a string. Keys in stores contain the digests of principals and session ids: issuers
/// choose principals, so they can have any length and contain any characters.
pub(super) fn digest(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

#[cfg(all(test, feature = "request-state"))]
mod tests {
    use super::*;
    use serde_json::json;

    fn sealed() -> SealedState {
        let contents = StateContents { round: 2, user: Some(json!("x")), ..StateContents::default() };
        SealedState { id: "n".into(), principal: "me".into(), digest: "d".into(), issued: 1, expires: 2, contents }
    }

    #[cfg(feature = "full")]
    #[test]
    fn a_random_key_is_warned_of_once_and_one_of_the_program_is_not() {
        let log = crate::tests::kept_log::KeptLog::default();
        tracing::subscriber::with_default(log.clone(), || {
            let sealers = [Sealer::new(&[]), Sealer::new(&[StateKey::random().unwrap()])];
            for _ in 0..2 {
                sealers.iter().for_each(Sealer::warn_of_random_key);
            }
        });
        let records = log.take();
        assert!(records.len() == 1 && records[0].contains("Set the server's state keys"), "{records:?}");
    }

    #[test]
    fn mrtr_06_only_our_own_sealed_states_open() {
        let sealer = Sealer::new(&[]);
        let text = sealer.seal_text(&sealed()).unwrap();
        assert_eq!(sealer.open_text(&text), Some(sealed()));
        assert_eq!(Sealer::new(&[]).open_text(&text), None, "another key");
        for position in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            assert_eq!(sealer.open_text(&String::from_utf8(changed).unwrap()), None, "byte {position}");
        }
        assert_eq!(sealer.open_text(&text[..text.len() - 1]), None);
        assert_eq!(sealer.open_text(""), None);
        assert_eq!(sealer.open_text(&"A".repeat(1 << 20)), None);
    }

    #[test]
    fn states_are_bounded() {
        let sealer = Sealer::new(&[]);
        let of_length = |length: usize| SealedState { digest: "x".repeat(length), ..sealed() };
        assert!(sealer.open_text(&sealer.seal_text(&of_length(MAX_SEALED - 1024)).unwrap()).is_some());
        assert_eq!(sealer.seal_text(&of_length(MAX_SEALED)), None);
    }

    #[test]
    fn keys_can_be_changed_while_old_states_are_on_their_way() {
        let (old, new) = (StateKey::new([1; 32]), StateKey::new([2; 32]));
        let text = Sealer::new(std::slice::from_ref(&old)).seal_text(&sealed()).unwrap();
        assert!(Sealer::new(&[new.clone(), old]).open_text(&text).is_some());
        assert!(Sealer::new(std::slice::from_ref(&new)).open_text(&text).is_none());
        assert_eq!(format!("{new:?}"), "StateKey(…)");
    }

    #[test]
    fn mrtr_06_a_state_is_for_the_numbers_it_was_made_for() {
        let params = |text: &str| RawJson::from_text(text.to_owned().into()).unwrap();
        let digest = |params: &RawJson| {
            let (principal, now) = ("me".to_owned(), Duration::ZERO);
            let (server, resource, method) = ("s", None, "tools/call");
            digest_of(&Binding { server, resource, principal, method, params: Some(params), now })
        };
        let first = params(r#"{"name":"pay","arguments":{"amount":100000000000000000000000001},"_meta":{"a":1}}"#);
        let again = params(
            r#"{"arguments": {"amount": 100000000000000000000000001}, "name": "pay", "requestState": "s", "inputResponses": {}}"#,
        );
        let other = params(r#"{"name":"pay","arguments":{"amount":100000000000000000000000002}}"#);
        assert_eq!(digest(&first), digest(&again));
        assert_ne!(digest(&first), digest(&other));
    }
}
