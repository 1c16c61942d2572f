// A tool that asks the user of its client, and a client that lets its user answer.
use serde_json::json;
use std::error::Error;
use trunkline::{
    CallError, Client, Context, Server,
    client::{ElicitRequest, HandlerError},
    protocol::model::{ElicitParams, ElicitResult, Field, FormSchema},
};

async fn book(ctx: Context) -> Result<String, CallError> {
    let form = FormSchema::new().required("people", Field::integer());
    let answer = ctx.elicit(ElicitParams::form("A table for how many?", form)).await?;
    let people = answer.content.and_then(|content| content.get("people")?.as_u64());
    Ok(match people {
        Some(people) => format!("A table for {people} is booked."),
        None => "Nothing was booked.".into(),
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
