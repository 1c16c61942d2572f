//! Registrations of a name that is already in use.

use crate::protocol::describe::{Described, Type, Values};
use serde::{Deserialize, Serialize};

/// The behavior if a name, URI or argument is registered twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OnDuplicate {
    /// The registration fails.
    #[default]
    Error,
    /// The new registration replaces the old one. Running calls continue.
    Replace,
}

impl Described for OnDuplicate {
    const TYPE: Type = {
        static VALUES: Values = Values {
            name: "OnDuplicate",
            doc: &[" What happens if a name, URI or argument is registered twice."],
            values: &[
                ("error", &[" The registration fails."]),
                ("replace", &[" The new registration replaces the old one; running calls continue."]),
            ],
            open: false,
        };
        Type::Values(&VALUES)
    };
}
