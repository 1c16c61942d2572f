//! Registrations of a name that is taken.

use crate::protocol::describe::{Described, Type, Values};
use serde::{Deserialize, Serialize};

/// The answer to a registration whose name, URI or argument is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OnDuplicate {
    /// An error.
    #[default]
    Error,
    /// The new registration takes the place of the old one; calls that run go on.
    Replace,
}

impl Described for OnDuplicate {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "OnDuplicate",
            doc: &[" The answer to a registration whose name, URI or argument is taken."],
            values: &[
                ("error", &[" An error."]),
                ("replace", &[" The new registration takes the place of the old one; calls that run go on."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}
