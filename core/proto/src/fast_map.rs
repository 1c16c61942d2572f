//! Maps with a faster hash than the standard library's, for what each call looks up.

use indexmap::IndexMap;
use std::collections::HashMap;

/// A map for keys that are ours, or that can only slow down the peer that chose them: its hash is
/// seeded at random, but is not cryptographic.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A [`FastMap`] in the order of insertion.
pub type FastIndexMap<K, V> = IndexMap<K, V, foldhash::fast::RandomState>;
