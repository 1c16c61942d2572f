//! The result type of handlers that use `?` on any error.

use crate::server::handlers::CallError;

/// A result whose error type accepts any error through `?`.
///
/// ```
/// use trunkline::Server;
///
/// async fn notes() -> trunkline::Result<String> {
///     Ok(std::fs::read_to_string("notes.txt")?)
/// }
///
/// let server = Server::builder("notes", "1.0.0").tool("notes", "Read all notes.", notes).build();
/// ```
pub type Result<T, E = CallError> = std::result::Result<T, E>;

/// `Ok` of a [`Result`], for closures: `async move { let text = read()?; trunkline::Ok(text) }`
/// fixes the error type for `?`.
#[allow(non_snake_case, reason = "it stands for a variant")]
pub fn Ok<T>(value: T) -> Result<T> {
    std::result::Result::Ok(value)
}
