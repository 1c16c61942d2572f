//! HTTP as it goes over the wire: a real server, and a client that writes its bytes by hand.

mod admission;
mod faulty_store;
mod health;
mod json_readers;
mod mounts;
mod resumption;
mod sse;
mod streamable;
mod support;
mod tasks;
#[cfg(unix)]
mod unix;
mod versions;
mod workers;
