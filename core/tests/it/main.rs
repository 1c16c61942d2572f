//! The core from outside: real processes, raw wires, scripted peers, and the bridge under a host. One binary, so that it links once.

mod apps;
mod bridge;
mod client;
mod envelope;
mod features;
mod hooks;
mod http_wire;
mod log;
mod memory;
mod offer;
mod process;
mod rounds;
mod script;
mod skills;
mod stdio;
mod tasks;
mod vectors;
mod wire;

/// Not a test by itself: this binary runs itself again with this test alone, in the role of a server (see `process`).
#[test]
fn plays_a_role() {
    process::play();
}
