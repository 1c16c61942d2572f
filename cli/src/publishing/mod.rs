//! Publishing a server: whether the registry takes its `server.json`, and its bundle.

mod bundle;
mod files;
mod finding;
mod manifest;
mod rules;

pub(crate) use bundle::bundle;
pub(crate) use files::{Packed, files_of};
pub(crate) use finding::{Finding, sha256};
pub(crate) use manifest::check as check_manifest;
pub(crate) use rules::check as check_server;
