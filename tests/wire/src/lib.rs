//! A closed-world checker for messages of the Model Context Protocol.
//!
//! The published schemas are open-world: they accept any field and any method they do not know, so
//! a message that passes them may still carry a field that its revision does not have. This checker
//! picks the type of a message by revision, direction and method, validates the message against it,
//! and then walks both together: every field must be one that the type defines. All of its
//! knowledge comes from the five schemas in `schemas/`, unchanged copies of the published ones, and
//! from those of the extensions that have messages of their own, merged with them if negotiated; it
//! shares no code with the core.
//!
//! Not checked are the contents of `_meta`, of `experimental` and `extensions` capabilities, and
//! everything that the schemas declare as a map or as any value, such as `arguments` or an error's
//! `data`.

#![forbid(unsafe_code)]

mod catalog;
mod checker;
mod extension;
pub mod record;
mod revision;
mod schema;
pub mod tally;
pub mod tolerance;
mod walk;

pub use checker::{Checker, Record};
pub use revision::{Direction, Revision};
pub use schema::SchemaError;
pub use walk::{Violation, ViolationKind};
