//! The name of this library in `User-Agent`.

pub(super) const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));
