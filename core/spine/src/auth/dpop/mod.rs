//! DPoP: tokens bound to a key of the client, with a proof in every request (RFC 9449 and the
//! specification's DPoP extension).

mod nonce;
mod proof;
mod replay_protection;

pub(super) use nonce::Nonces;
pub(super) use proof::{Expected, Proof, read};
pub(super) use replay_protection::{DEFAULT_MAX_PROOFS, ProofUse, Replays, digest, end};
