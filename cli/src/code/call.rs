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

impl Form {
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// The word for it on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The name for people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Node => "Node.js",
            Self::Rust => "Rust",
            Self::C => "C",
            Self::Go => "Go",
            Self::Kotlin => "Kotlin",
            Self::Java => "Java",
            Self::Ruby => "Ruby",
            Self::Swift => "Swift",
            Self::Curl => "curl",
            Self::Trunkline => "trunkline",
        }
    }
}

/// A call to print.
pub(super) struct Written<'a> {
    pub(super) place: Place,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
}
