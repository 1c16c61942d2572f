//! Tokens that are bound to a key of the client (RFC 9449, and the specification's DPoP extension):
//! the proof that goes with every request.

mod nonce;
mod proof;
mod replay;

pub(super) use nonce::Nonces;
pub(super) use proof::{Expected, Proof, read};
pub(super) use replay::{DEFAULT_MAX, ProofUse, Replays, digest, end};
