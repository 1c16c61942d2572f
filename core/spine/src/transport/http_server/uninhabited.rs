//! Stands in for the types of `crate::auth` in options where the feature `auth` is off.

/// The authorization of an endpoint. It has no value: the feature `auth` is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {}
