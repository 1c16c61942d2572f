//! `trunkline token new`: tokens for the callers of a bridge.

use crate::{
    exit::Exit,
    failure::Failure,
    output::{self, Output},
};
use clap::Args;
use serde_json::json;
use std::time::SystemTime;
use trunkline::{auth::NewStaticToken, protocol::RawJson};

/// Make a token, and print the line for the file of `bridge --tokens`.
///
/// The token itself is printed once, to standard error, and kept nowhere.
#[derive(Args)]
#[command(after_help = "\
Examples:
  trunkline token new ada >> tokens.txt
  trunkline token new ci --expires 90d >> tokens.txt")]
pub(super) struct New {
    /// The name of the caller, one word.
    name: String,
    /// When the token expires: a date such as 2027-01-31, or a time from now such as 90d.
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
}

impl New {
    pub(super) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let Self { name, expires } = self;
        let expires = expires.map(|when| date(&when)).transpose()?;
        let new = NewStaticToken::generate(&name, expires.as_deref()).map_err(|error| {
            Failure::usage(format!("the token {}", error.problem())).hint("trunkline token new ada")
        })?;
        if output.json {
            let both = json!({"token": new.token, "line": new.line});
            output.raw(&RawJson::from_value(&both).unwrap_or_else(|_| RawJson::empty_object()));
        } else {
            output.line(&new.line);
            output::tell(&format!("the token of {name}, which is shown only now: {}", new.token));
        }
        Ok(Exit::Done)
    }
}

/// A date, or the time so long from now.
fn date(when: &str) -> Result<String, Failure> {
    if when.contains('-') {
        return Ok(when.to_owned());
    }
    let later = humantime::parse_duration(when).ok().and_then(|time| SystemTime::now().checked_add(time));
    let later = later.ok_or_else(|| {
        Failure::usage(format!("--expires: {when:?} is no date, and no time from now")).hint("2027-01-31, or 90d")
    })?;
    Ok(humantime::format_rfc3339_seconds(later).to_string())
}
