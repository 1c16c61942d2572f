//! A client's negotiation of the revision (docs/versions.md, 2.3). It falls back to the legacy era
//! only if the server behaves like a legacy one, never because of authorization errors or outages.

use super::legacy::write_name;
use crate::protocol::{
    Era, RawJson, Revision, RpcError,
    describe::{Described, Type, Values},
    error::code,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Which revision a client wants to speak.
///
/// ```
/// # use trunkline_proto::{engine as trunkline, protocol::Revision};
/// use trunkline::RevisionChoice;
///
/// let choice = RevisionChoice::Pinned(Revision::V2025_11_25);
/// assert_ne!(choice, RevisionChoice::default());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RevisionChoice {
    /// The newest revision that both sides support: sends a probe first and falls back to the
    /// handshake.
    #[default]
    Auto,
    /// The newest revision of the legacy era, without a probe.
    Legacy,
    /// The newest revision of the per-request era; no fallback.
    Modern,
    /// This revision, without a probe.
    #[serde(untagged, serialize_with = "write_name")]
    Pinned(Revision),
}

impl RevisionChoice {
    /// Parses `auto`, `legacy`, `modern` or the name of a revision.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "legacy" => Some(Self::Legacy),
            "modern" => Some(Self::Modern),
            name => Revision::parse(name).map(Self::Pinned),
        }
    }

    /// Restricts the choice to the era of a transport that only carries one.
    ///
    /// # Errors
    /// [`NegotiationError::NoCommonRevision`] if the choice requires the other era.
    pub fn within(self, only: Option<Era>) -> Result<Self, NegotiationError> {
        let Some(only) = only else { return Ok(self) };
        match (self.era(), only) {
            (None, Era::Legacy) => Ok(Self::Legacy),
            (None, Era::Modern) => Ok(Self::Modern),
            (Some(era), _) if era == only => Ok(self),
            _ => Err(NegotiationError::NoCommonRevision {
                server: list(Revision::of(only)) + " (its transport supports no other)",
                client: self.names(),
            }),
        }
    }

    /// The era of the choice, or `None` for both.
    fn era(self) -> Option<Era> {
        match self {
            Self::Auto => None,
            Self::Legacy => Some(Era::Legacy),
            Self::Modern => Some(Era::Modern),
            Self::Pinned(revision) => Some(revision.era()),
        }
    }

    fn allows(self, revision: Revision) -> bool {
        match self {
            Self::Pinned(only) => revision == only,
            _ => self.era().is_none_or(|era| revision.era() == era),
        }
    }

    /// The names of the allowed revisions.
    fn names(self) -> String {
        list(Revision::ALL.into_iter().filter(|revision| self.allows(*revision)))
    }
}

fn list(revisions: impl Iterator<Item = Revision>) -> String {
    revisions.map(Revision::as_str).collect::<Vec<_>>().join(", ")
}

impl Described for RevisionChoice {
    const TYPE: Type = Type::Values(&Values {
        name: "RevisionChoice",
        doc: &[" A choice of the revision to speak."],
        values: &[
            ("auto", &[" The newest revision that both sides support: probes first, falls back to the legacy era."]),
            ("legacy", &[" The newest revision of the legacy era, without a probe."]),
            ("modern", &[" The newest revision of the modern era, without a fallback."]),
            ("2024-11-05", &[" This revision, without a probe."]),
            ("2025-03-26", &[" This revision, without a probe."]),
            ("2025-06-18", &[" This revision, without a probe."]),
            ("2025-11-25", &[" This revision, without a probe."]),
            ("2026-07-28", &[" This revision, without a probe."]),
        ],
        open: false,
    });
}

impl<'de> Deserialize<'de> for RevisionChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| {
            let revisions = Revision::ALL.map(Revision::as_str).join(", ");
            D::Error::custom(format_args!("{name:?} is not one of auto, legacy, modern, {revisions}"))
        })
    }
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum NegotiationStep {
    /// Send a probe.
    Send(Probe),
    /// The negotiation succeeded.
    Done(Negotiated),
    /// The negotiation failed.
    Fail(NegotiationError),
}

/// A request that determines the era of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// `server/discover`
    Discover(Revision),
    /// `initialize`. It is `fresh` if the process that got the first probe has ended, so that a new
    /// one is needed.
    Initialize {
        /// The revision to offer.
        revision: Revision,
        /// True if a new connection is needed first.
        fresh: bool,
    },
}

/// The outcome of a probe.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeOutcome {
    /// A result.
    Result(RawJson),
    /// A JSON-RPC error, under any status.
    Error(RpcError),
    /// A response that is neither.
    InvalidResponse(String),
    /// An HTTP status without a JSON-RPC body, and its description.
    Status(u16, String),
    /// No response in time.
    TimedOut,
    /// The child process ended.
    Exited(String),
    /// The server was unreachable, or the connection failed.
    Unreachable(String),
}

/// The outcome of a successful negotiation.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiated {
    /// The negotiated revision.
    pub revision: Revision,
    /// The result of `initialize` or `server/discover`; `None` if the revision was pinned without a
    /// probe.
    pub result: Option<RawJson>,
}

/// Why a negotiation failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NegotiationError {
    /// No revision in common.
    #[error("No common protocol revision: the server supports {server}; this client supports {client}")]
    NoCommonRevision {
        /// The server's revisions.
        server: String,
        /// The client's revisions.
        client: String,
    },
    /// The server returned an error.
    #[error("The server rejected the handshake: {0}")]
    Refused(RpcError),
    /// No response in time.
    #[error("The server did not answer in time")]
    TimedOut,
    /// The transport failed.
    #[error("{0}")]
    Transport(String),
    /// The server's response is invalid.
    #[error("Invalid response: {0}")]
    InvalidResponse(String),
}

/// The state of a negotiation.
#[derive(Debug)]
pub struct Negotiation {
    choice: RevisionChoice,
    pipe: bool,
    probe: Probe,
    /// A version was already corrected; a server that refuses it again is not retried forever.
    corrected: bool,
}

type NextStep = Result<NegotiationStep, NegotiationError>;

impl Negotiation {
    /// Starts a negotiation. `pipe` is set for a child process, which may be silent or exit, as
    /// opposed to a URL.
    pub fn start(choice: RevisionChoice, pipe: bool) -> (Self, NegotiationStep) {
        let probe = match choice {
            RevisionChoice::Auto | RevisionChoice::Modern => Probe::Discover(Revision::LATEST),
            RevisionChoice::Legacy => Probe::Initialize { revision: Revision::LATEST_LEGACY, fresh: false },
            RevisionChoice::Pinned(revision) => Probe::Initialize { revision, fresh: false },
        };
        let negotiation = Self { choice, pipe, probe, corrected: false };
        let step = match choice {
            RevisionChoice::Pinned(revision) if revision.era() == Era::Modern => {
                NegotiationStep::Done(Negotiated { revision, result: None })
            }
            _ => NegotiationStep::Send(probe),
        };
        (negotiation, step)
    }

    /// Continues with the outcome of the last probe.
    pub fn next(&mut self, outcome: ProbeOutcome) -> NegotiationStep {
        let step = match self.probe {
            Probe::Discover(_) => self.discovered(outcome),
            Probe::Initialize { .. } => self.initialized(outcome),
        };
        step.unwrap_or_else(NegotiationStep::Fail)
    }

    fn discovered(&mut self, outcome: ProbeOutcome) -> NextStep {
        match outcome {
            ProbeOutcome::Result(result) => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Discovered {
                    supported_versions: Vec<String>,
                }
                match result.parse::<Discovered>() {
                    Ok(found) => match newest(&found.supported_versions, Era::Modern) {
                        Some(revision) => Ok(NegotiationStep::Done(Negotiated { revision, result: Some(result) })),
                        None => self.fall_back_to_listed(&found.supported_versions),
                    },
                    // A permissive server of the other era answered with something unrelated.
                    Err(_) => self.handshake(false),
                }
            }
            ProbeOutcome::Error(error) if error.code == code::UNSUPPORTED_VERSION => {
                let supported = supported_in(&error);
                match newest(&supported, Era::Modern) {
                    // DISC-13: only once, but even with the version just refused, because the
                    // refusal may come from an older node of a cluster.
                    Some(common) if !self.corrected => {
                        self.corrected = true;
                        self.send(Probe::Discover(common))
                    }
                    Some(_) => Err(NegotiationError::Refused(error)),
                    None => self.fall_back_to_listed(&supported),
                }
            }
            ProbeOutcome::Error(error) if error.is_modern() => Err(NegotiationError::Refused(error)),
            ProbeOutcome::Error(_) => self.handshake(false),
            ProbeOutcome::InvalidResponse(text) => self.handshake_or(false, NegotiationError::InvalidResponse(text)),
            // Authorization errors, proxies and outages do not reveal the server's era.
            ProbeOutcome::Status(401 | 403 | 407 | 500.., text) => Err(NegotiationError::Transport(text)),
            // A legacy server with sessions sends this.
            ProbeOutcome::Status(400, _) => self.handshake(false),
            ProbeOutcome::Status(_, text) => self.handshake_or(false, NegotiationError::Transport(text)),
            ProbeOutcome::TimedOut if self.pipe => self.handshake(false),
            ProbeOutcome::Exited(text) if self.pipe => self.handshake_or(true, NegotiationError::Transport(text)),
            ProbeOutcome::TimedOut => Err(NegotiationError::TimedOut),
            ProbeOutcome::Exited(text) | ProbeOutcome::Unreachable(text) => Err(NegotiationError::Transport(text)),
        }
    }

    fn initialized(&mut self, outcome: ProbeOutcome) -> NextStep {
        match outcome {
            ProbeOutcome::Result(result) => self.handshake_answered(result),
            // A server of both eras fixes its era on the first request, even if it answered too
            // late; this code proves it (docs/versions.md, 2.3).
            ProbeOutcome::Error(error) if error.code == code::UNSUPPORTED_VERSION => {
                let supported = supported_in(&error);
                match newest(&supported, Era::Modern) {
                    Some(modern) if self.choice == RevisionChoice::Auto && !self.corrected => {
                        self.corrected = true;
                        self.send(Probe::Discover(modern))
                    }
                    // DISC-13
                    _ if self.has_none_of(&supported) => self.nothing_in_common(&supported),
                    _ => Err(NegotiationError::Refused(error)),
                }
            }
            ProbeOutcome::Error(error) => Err(NegotiationError::Refused(error)),
            ProbeOutcome::InvalidResponse(text) => Err(NegotiationError::InvalidResponse(text)),
            // The server answered the probe or was silent, and then exited because of it.
            ProbeOutcome::Exited(_)
                if self.pipe
                    && self.choice == RevisionChoice::Auto
                    && matches!(self.probe, Probe::Initialize { fresh: false, .. }) =>
            {
                self.handshake(true)
            }
            ProbeOutcome::Status(400 | 404 | 405, text) => Err(NegotiationError::Transport(format!(
                "{text}; this URL serves neither Streamable HTTP nor HTTP+SSE"
            ))),
            ProbeOutcome::Status(_, text) => Err(NegotiationError::Transport(text)),
            ProbeOutcome::TimedOut => Err(NegotiationError::TimedOut),
            ProbeOutcome::Exited(text) | ProbeOutcome::Unreachable(text) => Err(NegotiationError::Transport(text)),
        }
    }

    fn handshake_answered(&self, result: RawJson) -> NextStep {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Initialized {
            protocol_version: String,
        }
        let answered = result.read::<Initialized>().map_err(NegotiationError::InvalidResponse)?.protocol_version;
        match Revision::parse(&answered) {
            Some(revision) if revision.era() == Era::Legacy && self.choice.allows(revision) => {
                Ok(NegotiationStep::Done(Negotiated { revision, result: Some(result) }))
            }
            _ => self.nothing_in_common(&[answered]),
        }
    }

    /// Falls back if the server listed its versions, none of the modern ones is supported here, and
    /// a legacy one is (DISC-25).
    fn fall_back_to_listed(&mut self, supported: &[String]) -> NextStep {
        if newest(supported, Era::Legacy).is_some() && self.choice == RevisionChoice::Auto {
            self.handshake(false)
        } else {
            self.nothing_in_common(supported)
        }
    }

    fn handshake(&mut self, fresh: bool) -> NextStep {
        match self.choice {
            RevisionChoice::Auto => self.send(Probe::Initialize { revision: Revision::LATEST_LEGACY, fresh }),
            _ => self.nothing_in_common(&["a legacy revision".into()]),
        }
    }

    /// The failure, if there is no falling back: then it does not matter whether the server knows
    /// the other era.
    fn handshake_or(&mut self, fresh: bool, failure: NegotiationError) -> NextStep {
        if self.choice == RevisionChoice::Auto { self.handshake(fresh) } else { Err(failure) }
    }

    fn send(&mut self, probe: Probe) -> NextStep {
        self.probe = probe;
        Ok(NegotiationStep::Send(probe))
    }

    /// Returns whether the server listed revisions of which none is allowed.
    fn has_none_of(&self, supported: &[String]) -> bool {
        let is_ours = |name: &String| Revision::parse(name).is_some_and(|revision| self.choice.allows(revision));
        !supported.is_empty() && !supported.iter().any(is_ours)
    }

    fn nothing_in_common(&self, supported: &[String]) -> NextStep {
        Err(NegotiationError::NoCommonRevision { server: supported.join(", "), client: self.choice.names() })
    }
}

fn newest(names: &[String], era: Era) -> Option<Revision> {
    names.iter().filter_map(|name| Revision::parse(name)).filter(|revision| revision.era() == era).max()
}

fn supported_in(error: &RpcError) -> Vec<String> {
    let listed = error.data.iter().filter_map(|data| data["supported"].as_array()).flatten();
    listed.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const DISCOVER: NegotiationStep = NegotiationStep::Send(Probe::Discover(Revision::LATEST));
    const HANDSHAKE: NegotiationStep =
        NegotiationStep::Send(Probe::Initialize { revision: Revision::LATEST_LEGACY, fresh: false });

    fn auto(pipe: bool) -> Negotiation {
        let (negotiation, step) = Negotiation::start(RevisionChoice::Auto, pipe);
        assert_eq!(step, DISCOVER);
        negotiation
    }

    fn result(value: Value) -> ProbeOutcome {
        ProbeOutcome::Result(RawJson::from_value(&value).unwrap())
    }

    fn versions(names: &[&str]) -> ProbeOutcome {
        result(json!({"supportedVersions": names, "capabilities": {}}))
    }

    fn unsupported(names: &[&str]) -> ProbeOutcome {
        ProbeOutcome::Error(RpcError::new(-32022, "no").with_data(json!({"supported": names, "requested": "x"})))
    }

    fn revision(step: NegotiationStep) -> Revision {
        match step {
            NegotiationStep::Done(negotiated) => negotiated.revision,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn disc_05_the_newest_common_version_is_chosen() {
        assert_eq!(revision(auto(false).next(versions(&["2027-01-01", "2026-07-28", "2025-11-25"]))), Revision::LATEST);
    }

    #[test]
    fn mixed_lists_lead_to_the_handshake_and_nothing_in_common_is_reported() {
        assert_eq!(auto(true).next(versions(&["2025-06-18"])), HANDSHAKE);
        assert_eq!(auto(true).next(unsupported(&["2030-01-01", "2025-06-18"])), HANDSHAKE);
        assert!(matches!(
            auto(true).next(versions(&["2030-01-01"])),
            NegotiationStep::Fail(NegotiationError::NoCommonRevision { .. })
        ));
        assert!(matches!(
            auto(true).next(unsupported(&[])),
            NegotiationStep::Fail(NegotiationError::NoCommonRevision { .. })
        ));
    }

    #[test]
    fn disc_24_any_other_error_is_legacy_and_disc_25_a_modern_one_never() {
        for code in [-32601, -32602, -32600, -32001, 0, 1] {
            assert_eq!(auto(true).next(ProbeOutcome::Error(RpcError::new(code, "x"))), HANDSHAKE);
        }
        for code in [-32020, -32021] {
            assert!(matches!(
                auto(false).next(ProbeOutcome::Error(RpcError::new(code, "x"))),
                NegotiationStep::Fail(NegotiationError::Refused(_))
            ));
        }
        assert_eq!(auto(false).next(ProbeOutcome::Status(404, String::new())), HANDSHAKE);
        assert_eq!(auto(false).next(result(json!({"tools": []}))), HANDSHAKE);
        let mut silly = auto(true);
        assert_eq!(silly.next(ProbeOutcome::InvalidResponse("no object".into())), HANDSHAKE);
        let failed = silly.next(ProbeOutcome::InvalidResponse("no object".into()));
        assert_eq!(failed, NegotiationStep::Fail(NegotiationError::InvalidResponse("no object".into())));
    }

    #[test]
    fn what_is_no_evidence_of_an_era_is_reported() {
        for outcome in [
            ProbeOutcome::Status(401, String::new()),
            ProbeOutcome::Status(403, String::new()),
            ProbeOutcome::Status(500, String::new()),
            ProbeOutcome::Status(503, String::new()),
            ProbeOutcome::TimedOut,
            ProbeOutcome::Unreachable("refused".into()),
        ] {
            assert!(matches!(auto(false).next(outcome.clone()), NegotiationStep::Fail(_)), "{outcome:?}");
        }
    }

    #[test]
    fn silent_and_exiting_servers_on_a_pipe_are_legacy() {
        assert_eq!(auto(true).next(ProbeOutcome::TimedOut), HANDSHAKE);
        assert_eq!(
            auto(true).next(ProbeOutcome::Exited("status 1".into())),
            NegotiationStep::Send(Probe::Initialize { revision: Revision::LATEST_LEGACY, fresh: true })
        );
    }

    #[test]
    fn a_server_that_exits_a_moment_after_the_probe_is_restarted_once() {
        let mut negotiation = auto(true);
        assert_eq!(negotiation.next(ProbeOutcome::Error(RpcError::new(-32601, "x"))), HANDSHAKE);
        assert_eq!(
            negotiation.next(ProbeOutcome::Exited("status 1".into())),
            NegotiationStep::Send(Probe::Initialize { revision: Revision::LATEST_LEGACY, fresh: true })
        );
        assert!(matches!(
            negotiation.next(ProbeOutcome::Exited("status 1".into())),
            NegotiationStep::Fail(NegotiationError::Transport(_))
        ));
    }

    #[test]
    fn a_slow_server_of_both_eras_is_asked_once_more() {
        let mut negotiation = auto(true);
        assert_eq!(negotiation.next(ProbeOutcome::TimedOut), HANDSHAKE);
        assert_eq!(negotiation.next(unsupported(&["2026-07-28"])), DISCOVER);
        assert_eq!(revision(negotiation.next(versions(&["2026-07-28"]))), Revision::LATEST);
    }

    #[test]
    fn disc_13_a_version_that_the_server_lists_is_tried_once_more_even_if_it_was_refused() {
        let mut negotiation = auto(false);
        assert_eq!(negotiation.next(unsupported(&["2026-07-28"])), DISCOVER);
        assert_eq!(revision(negotiation.next(versions(&["2026-07-28"]))), Revision::LATEST);
    }

    #[test]
    fn a_server_that_never_agrees_is_not_asked_for_ever() {
        let mut negotiation = auto(true);
        assert_eq!(negotiation.next(unsupported(&["2026-07-28"])), DISCOVER);
        assert!(matches!(
            negotiation.next(unsupported(&["2026-07-28"])),
            NegotiationStep::Fail(NegotiationError::Refused(_))
        ));
        let mut negotiation = auto(true);
        assert_eq!(negotiation.next(ProbeOutcome::TimedOut), HANDSHAKE);
        assert_eq!(negotiation.next(unsupported(&["2026-07-28"])), DISCOVER);
        assert_eq!(negotiation.next(ProbeOutcome::TimedOut), HANDSHAKE);
        assert!(matches!(negotiation.next(unsupported(&["2026-07-28"])), NegotiationStep::Fail(_)));
    }

    #[test]
    fn disc_13_a_client_that_may_speak_none_of_the_listed_versions_reports_that() {
        for choice in [RevisionChoice::Legacy, RevisionChoice::Pinned(Revision::V2025_06_18)] {
            let refused = |supported: &[&str]| Negotiation::start(choice, true).0.next(unsupported(supported));
            for supported in [&["2026-07-28"][..], &["2030-01-01"]] {
                let step = refused(supported);
                assert!(matches!(step, NegotiationStep::Fail(NegotiationError::NoCommonRevision { .. })), "{step:?}");
            }
            for supported in [&["2025-06-18", "2026-07-28"][..], &[]] {
                let step = refused(supported);
                assert!(matches!(step, NegotiationStep::Fail(NegotiationError::Refused(_))), "{step:?}");
            }
        }
    }

    #[test]
    fn pinned_revisions_are_spoken_without_a_probe() {
        let (_, step) = Negotiation::start(RevisionChoice::Pinned(Revision::V2026_07_28), false);
        assert_eq!(step, NegotiationStep::Done(Negotiated { revision: Revision::V2026_07_28, result: None }));
        let (mut negotiation, step) = Negotiation::start(RevisionChoice::Pinned(Revision::V2024_11_05), false);
        assert_eq!(step, NegotiationStep::Send(Probe::Initialize { revision: Revision::V2024_11_05, fresh: false }));
        assert!(matches!(
            negotiation.next(result(json!({"protocolVersion": "2025-11-25"}))),
            NegotiationStep::Fail(NegotiationError::NoCommonRevision { .. })
        ));
    }

    #[test]
    fn life_10_an_answer_of_the_wrong_era_or_an_unknown_one_ends_it() {
        for answered in ["2026-07-28", "2019-01-01"] {
            let (mut negotiation, _) = Negotiation::start(RevisionChoice::Legacy, true);
            assert!(
                matches!(negotiation.next(result(json!({"protocolVersion": answered}))), NegotiationStep::Fail(_)),
                "{answered}"
            );
        }
        let (mut negotiation, _) = Negotiation::start(RevisionChoice::Legacy, true);
        assert_eq!(revision(negotiation.next(result(json!({"protocolVersion": "2024-11-05"})))), Revision::V2024_11_05);
    }

    #[test]
    fn a_transport_of_one_era_narrows_the_choice() {
        use RevisionChoice::{Auto, Legacy, Modern, Pinned};
        let (modern, old) = (Pinned(Revision::LATEST), Pinned(Revision::V2024_11_05));
        for choice in [Auto, Legacy, Modern, modern, old] {
            assert_eq!(choice.within(None), Ok(choice));
        }
        let (legacy_only, modern_only) = (Some(Era::Legacy), Some(Era::Modern));
        assert_eq!((Auto.within(legacy_only), Auto.within(modern_only)), (Ok(Legacy), Ok(Modern)));
        assert_eq!((old.within(legacy_only), modern.within(modern_only)), (Ok(old), Ok(modern)));
        for (choice, only) in [(Modern, legacy_only), (modern, legacy_only), (Legacy, modern_only), (old, modern_only)]
        {
            let refused = choice.within(only).unwrap_err().to_string();
            assert!(refused.contains("supports no other"), "{refused}");
        }
    }

    #[test]
    fn modern_only_never_falls_back() {
        let text = || "why".to_owned();
        for (outcome, reported) in [
            (ProbeOutcome::Exited(text()), NegotiationError::Transport(text())),
            (ProbeOutcome::Status(404, text()), NegotiationError::Transport(text())),
            (ProbeOutcome::Status(200, text()), NegotiationError::Transport(text())),
            (ProbeOutcome::InvalidResponse(text()), NegotiationError::InvalidResponse(text())),
        ] {
            let (mut negotiation, _) = Negotiation::start(RevisionChoice::Modern, true);
            assert_eq!(negotiation.next(outcome), NegotiationStep::Fail(reported));
        }
        let legacy = [ProbeOutcome::Error(RpcError::new(-32601, "x")), ProbeOutcome::Status(400, text())];
        for outcome in legacy.into_iter().chain([ProbeOutcome::TimedOut]) {
            let (mut negotiation, _) = Negotiation::start(RevisionChoice::Modern, true);
            let step = negotiation.next(outcome);
            assert!(matches!(step, NegotiationStep::Fail(NegotiationError::NoCommonRevision { .. })), "{step:?}");
        }
    }
}
