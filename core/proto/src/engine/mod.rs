//! The conversation: ids, pending requests, cancellation, progress, timeouts and negotiation.
//!
//! Pure state machines: messages and the current time are passed in, and actions are returned.
//! `legacy` and `modern` contain the differences between the two eras; no other code branches on
//! them.

mod client;
mod era;
mod host_tasks;
mod incoming;
mod legacy;
mod limits;
mod modern;
mod negotiation;
mod outgoing;
mod params;
mod request_info;
mod server;

pub use client::{
    Answer, ClientConversation, ClientReceived, IncomingRequest, OnBehalf, OpeningRequest, RequestExtras, SentRequest,
};
#[doc(hidden)]
pub use era::Claim;
pub use host_tasks::TaskMetadata;
pub use incoming::{CallKey, IncomingCall, OpenCalls};
#[doc(hidden)]
pub use legacy::LegacyTerms;
pub use limits::Limits;
pub use modern::Mirror;
pub use negotiation::{
    Negotiated, Negotiation, NegotiationError, NegotiationStep, Probe, ProbeOutcome, RevisionChoice,
};
#[doc(hidden)]
pub use outgoing::later;
pub use outgoing::{MethodCall, RequestTimeout};
pub use params::ClientIdentity;
pub use request_info::{MirroredParameters, RequestInfo};
pub use server::{CallProgress, Received, RefusedRequest, ServerConversation};
