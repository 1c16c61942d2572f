//! The part of the plays over standard input and output that takes its turn.

use crate::Transport;
use std::str::FromStr;

/// One of several parts of the plays over standard input and output, each of which starts a
/// process. A play belongs to a part by its name, so that other plays do not move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StdioShare {
    part: usize,
    parts: usize,
}

impl StdioShare {
    /// Returns whether a play is in this part. Other transports are in all parts.
    pub fn has(self, play: &str, over: Transport) -> bool {
        let sum = play.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        over != Transport::Stdio || sum % self.parts == self.part
    }
}

impl FromStr for StdioShare {
    type Err = String;

    /// Parses a part, from 0, and the number of parts, such as `2/8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
        match numbers {
            Some((part, parts)) if part < parts => Ok(Self { part, parts }),
            _ => Err(format!("a share has the form PART/PARTS, with PART from 0 and below PARTS, not {text:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Played, load, load_client};
    use std::path::Path;

    #[test]
    fn the_parts_together_have_every_play() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let vectors = [here.clone(), here.join("features")].map(|folder| load(&folder).unwrap());
        let mut plays: Vec<(String, Transport)> = Vec::new();
        for vector in vectors.iter().flatten() {
            let names =
                vector.plays().into_iter().map(|(revision, over)| (Played::name(&vector.name, revision, over), over));
            plays.extend(names);
        }
        for vector in load_client(&here.join("client")).unwrap() {
            plays.extend(vector.transports().iter().map(|&over| (Played::name(&vector.name, None, over), over)));
        }
        let parts: Vec<StdioShare> = (0..8).map(|part| format!("{part}/8").parse().unwrap()).collect();
        for (play, over) in &plays {
            let played = parts.iter().filter(|part| part.has(play, *over)).count();
            assert_eq!(played, if *over == Transport::Stdio { 1 } else { 8 }, "{play}");
        }
        let over_stdio: Vec<_> = plays.iter().filter(|(_, over)| *over == Transport::Stdio).collect();
        for part in parts {
            let played = over_stdio.iter().filter(|(play, over)| part.has(play, *over)).count();
            assert!(played * 8 < over_stdio.len() * 2, "{part:?} has {played} of {}", over_stdio.len());
        }
    }

    #[test]
    fn a_share_has_a_part_and_the_number_of_parts() {
        assert_eq!("2/8".parse(), Ok(StdioShare { part: 2, parts: 8 }));
        for wrong in ["8/8", "2", "0/0", "-1/8", "a/b", "1/2/3"] {
            assert!(wrong.parse::<StdioShare>().unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
