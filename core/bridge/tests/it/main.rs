//! The bridge from outside, under a host and in separate processes. One binary, so that it links
//! once.

#![allow(clippy::disallowed_types)]

mod bridge;

// The processes are the same as in the tests of the crate `trunkline`.
#[allow(dead_code, reason = "shared")]
#[path = "../../../tests/it/offer.rs"]
mod offer;
#[allow(dead_code, reason = "shared")]
#[path = "../../../tests/it/process.rs"]
mod process;
#[allow(dead_code, reason = "shared")]
#[path = "../../../tests/it/script.rs"]
mod script;
#[allow(dead_code, unused_imports, reason = "shared")]
#[path = "../../../tests/it/wire.rs"]
mod wire;

/// Not a test by itself: this binary runs itself again with this test alone, in the role of a
/// server (see `process`).
#[test]
fn plays_a_role() {
    process::play(|role, file| match role.strip_prefix("script ") {
        Some(script) => script::play(script, &file),
        None if bridge::play(role) => {}
        None => offer::serve(role, file),
    });
}
