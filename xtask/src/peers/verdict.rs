//! The output of a successful client must name the revisions that it was to speak: a side that has silently fallen back
//! to the other era passes no test.

use serde_json::Value;

use super::{Caller, ClientForm};

impl Caller {
    /// The revisions that both sides spoke, or what is wrong with them.
    pub(super) fn verdict(self, ended_well: bool, stdout: &str) -> Result<String, String> {
        let spoken = spoken(stdout);
        match self {
            // It tries all revisions, and so fails with a server that does not know them all.
            Self::Pinned(wanted) => {
                match wanted.iter().find(|&&wanted| !spoken.iter().any(|spoken| spoken == wanted)) {
                    Some(missing) => Err(format!("no good call in {missing}")),
                    None => Ok(wanted.join(" ")),
                }
            }
            Self::Peer(ClientForm { revision: wanted, .. }) | Self::Negotiating(wanted) => {
                if ended_well && spoken == [wanted] {
                    Ok(wanted.to_owned())
                } else {
                    Err(format!("expected good calls in {wanted} and a good end, got calls in {spoken:?}"))
                }
            }
        }
    }
}

/// The revisions of the calls that went well: a peer's client says `ok REVISION`, ours a JSON line.
fn spoken(stdout: &str) -> Vec<String> {
    let ours = |line| {
        let answer: Value = serde_json::from_str(line).ok()?;
        (answer["ok"] == true).then(|| answer["revision"].as_str().map(str::to_owned))?
    };
    stdout.lines().filter_map(|line| line.strip_prefix("ok ").map(str::to_owned).or_else(|| ours(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_fell_back_to_the_other_era_fails() {
        let peer = Caller::Peer(ClientForm { arguments: &["--auto"], revision: "2026-07-28" });
        assert_eq!(peer.verdict(true, "ok 2026-07-28\n").as_deref(), Ok("2026-07-28"));
        assert!(peer.verdict(true, "ok 2025-11-25\n").is_err());
        assert!(peer.verdict(true, "").is_err());
        assert!(peer.verdict(false, "ok 2026-07-28\n").is_err());

        let ours = Caller::Negotiating("2026-07-28");
        assert!(ours.verdict(true, r#"{"revision": "2026-07-28", "ok": true, "ms": 1}"#).is_ok());
        assert!(ours.verdict(true, r#"{"revision": "2025-11-25", "ok": true, "ms": 1}"#).is_err());
        assert!(ours.verdict(true, r#"{"revision": "2026-07-28", "ok": false, "error": "x"}"#).is_err());
    }

    #[test]
    fn a_pinned_client_must_have_spoken_all_that_the_server_knows() {
        let pinned = Caller::Pinned(&["2025-06-18", "2025-11-25"]);
        let line = |revision: &str, ok| format!("{{\"revision\": \"{revision}\", \"ok\": {ok}}}\n");
        let good = line("2025-06-18", true) + &line("2025-11-25", true) + &line("2026-07-28", false);
        assert_eq!(pinned.verdict(false, &good).as_deref(), Ok("2025-06-18 2025-11-25"));
        let lost = line("2025-06-18", true) + &line("2025-11-25", false);
        assert_eq!(pinned.verdict(false, &lost), Err("no good call in 2025-11-25".to_owned()));
    }
}
