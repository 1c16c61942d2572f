//! A call, and the form in which it is printed.

use super::place::Place;
use clap::ValueEnum;
use serde_json::{Map, Value};

/// The form in which to print a call.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    #[value(alias = "py")]
    Python,
    #[value(aliases = ["ts", "typescript", "js", "javascript"])]
    Node,
    #[value(alias = "rs")]
    Rust,
    C,
    Go,
    #[value(alias = "kt")]
    Kotlin,
    Java,
    #[value(alias = "rb")]
    Ruby,
    Swift,
    Curl,
    Trunkline,
}

/// A call to print.
pub(super) struct Written<'a> {
    pub(super) place: Place,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
}
