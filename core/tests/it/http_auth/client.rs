//! OAuth of a client, from the first refusal to the last renewal.

mod discovery;
mod grants;
mod imported_logins;
mod logins;
mod scopes;
mod tokens;
mod world;
