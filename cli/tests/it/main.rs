//! The real binary, against servers over every transport.

mod calls;
mod errors;
mod hostile;
mod listening;
mod lists;
mod page;
mod program;
mod servers;
mod targets;
mod thin;
