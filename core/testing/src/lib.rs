//! For testing servers: an in-memory client whose user and model answer from a script, and a check
//! for custom stores, [`check_store`].
//!
//! ```
//! use serde_json::json;
//! use trunkline::{
//!     prelude::*,
//!     protocol::model::{ElicitParams, ElicitResult, Field, FormSchema},
//!     testing::Script,
//! };
//!
//! async fn book(ctx: Context) -> Result<String, CallError> {
//!     let form = FormSchema::new().required("people", Field::integer());
//!     let answer = ctx.elicit(ElicitParams::form("A table for how many?", form)).await?;
//!     let people = answer.content.and_then(|content| content.get("people")?.as_u64());
//!     Ok(people.map_or("Nothing was booked.".into(), |people| format!("A table for {people}.")))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder("restaurant", "1.0.0").tool("book", "Book a table.", book).build();
//! let four = ElicitResult::accept(serde_json::from_value(json!({"people": 4}))?);
//! let client = Script::new().on_elicit(four).on_elicit(ElicitResult::decline()).connect(&server).await?;
//!
//! assert_eq!(client.call_tool("book", json!({})).await?.joined_text(), "A table for 4.");
//! assert_eq!(client.call_tool("book", json!({})).await?.joined_text(), "Nothing was booked.");
//! client.finish().await?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answers;
mod contract;
mod script;
mod store_check;
mod test_client;

pub use answers::AnsweredRequest;
pub use script::Script;
pub use store_check::check_store;
#[doc(hidden)]
pub use store_check::findings_of;
pub use test_client::{TestClient, UnfinishedTest};
pub use trunkline_core::server::HandlerFailure;
