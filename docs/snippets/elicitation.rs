// A tool that asks the user a question, and a client that answers it.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use trunkline::{
    CallError, Client, Context, Server,
    client::{ElicitRequest, HandlerError},
    protocol::model::ElicitResult,
    server::Elicited,
};

#[derive(Deserialize, JsonSchema)]
struct Booking {
    people: u32,
}

async fn book(ctx: Context) -> Result<String, CallError> {
    Ok(match ctx.elicit_form::<Booking>("A table for how many?").await? {
        Elicited::Accept(booking) => format!("A table for {} is booked.", booking.people),
        Elicited::Decline | Elicited::Cancel => "Nothing was booked.".into(),
    })
}

async fn ask(request: ElicitRequest) -> Result<ElicitResult, HandlerError> {
    println!("{}", request.message); // here the user fills in the form of `requested_schema`
    Ok(ElicitResult::accept(serde_json::from_value(json!({"people": 4}))?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("restaurant", "1.0.0").tool("book", "Book a table.", book).build();
    let client = Client::builder().on_elicit(ask).connect(&server).await?;
    println!("{}", client.call_tool("book", json!({})).await?.joined_text());
    Ok(())
}
