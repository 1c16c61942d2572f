//! Signature algorithms.

use crate::protocol::describe::{Described, Type};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A signature algorithm (RFC 7518 section 3.1, RFC 8037).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Algorithm {
    Es256,
    Es384,
    Es512,
    EdDsa,
    Ps256,
    Ps384,
    Ps512,
    Rs256,
    Rs384,
    Rs512,
}

/// The names, in the order of the variants.
const NAMES: [&str; 10] = ["ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 10] = [
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
    ];

    /// The value of `alg`.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Parses the value of `alg`, which is case-sensitive.
    pub fn parse(name: &str) -> Option<Self> {
        // RFC 9864 has a separate name for EdDSA on this curve.
        let name = if name == "Ed25519" { "EdDSA" } else { name };
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

impl Described for Algorithm {
    const TYPE: Type = Type::String;
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| {
            let known = NAMES.join(", ");
            D::Error::custom(format_args!("{name:?} is not one of {known}"))
        })
    }
}
