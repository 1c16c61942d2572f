//! The wire vectors of `tests/vectors`, over the standard input and output of the server of these
//! tests.

use crate::{process::File, wire::Wire};
use std::path::Path;
use trunkline_vectors::{Outcome, Server, Transport, load, play_all};

/// This test binary in the role of a server.
struct Role;

impl Server for Role {
    fn connect(&self, over: Transport, page_size: Option<usize>) -> Option<trunkline_vectors::Wire> {
        (over == Transport::Stdio && page_size.is_none()).then(|| Wire::start("server", &File::new()).0)
    }
}

#[test]
fn every_vector_holds() {
    let vectors = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")).unwrap();
    assert!(vectors.len() > 15, "{}", vectors.len());
    let played = play_all(&vectors, &Role, |_, _, _| true, |_| {});
    let failed: Vec<_> = played.iter().filter(|played| matches!(played.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    for vector in &vectors {
        let held = played.iter().any(|played| played.vector == vector.name && matches!(played.outcome, Outcome::Held));
        assert!(held, "{} is played over standard input and output", vector.name);
    }
}
