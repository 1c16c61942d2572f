//! The two lengths of the tests. The long form plays everything. The short form plays a selection
//! that is computed from the same tables, and a part of it takes turns with the commits.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::must;
use crate::workspace::Workspace;

const GIT_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Long,
    /// Consecutive commits have consecutive turns.
    Short {
        turn: usize,
    },
}

impl Length {
    /// The length that `--long` chooses, for the commit that is checked out.
    pub(crate) fn of(workspace: &Workspace, long: bool) -> Result<Self> {
        if long { Ok(Self::Long) } else { turn(workspace).map(|turn| Self::Short { turn }) }
    }

    pub(crate) fn is_long(self) -> bool {
        self == Self::Long
    }
}

/// The number of the commit in its branch. Its hash would be easier to get, but hashes do not
/// promise that a few commits in a row take all turns. A shallow clone does not know the number, so
/// the hash has to do there.
fn turn(workspace: &Workspace) -> Result<usize> {
    let git = |words: &[&str]| {
        let mut git = workspace.command("git");
        git.args(words);
        must(git, GIT_TIMEOUT).map(|output| output.stdout.trim().to_owned())
    };
    if git(&["rev-parse", "--is-shallow-repository"])? == "true" {
        let hash = git(&["rev-parse", "HEAD"])?;
        return usize::from_str_radix(&hash[..4], 16).context("the hash of a commit is hexadecimal");
    }
    git(&["rev-list", "--count", "--first-parent", "HEAD"])?.parse().context("git counts commits")
}
