// A test of a tool that asks the user, with scripted answers.
use serde_json::json;
use std::error::Error;
use trunkline::{
    CallError, Context, Server,
    protocol::model::{ElicitParams, ElicitResult, Field, FormSchema},
    testing::Script,
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("restaurant", "1.0.0").tool("book", "Book a table.", book).build();
    // Reruns handlers that ask, on every revision: this reveals effects before a question.
    let four = ElicitResult::accept(serde_json::from_value(json!({"people": 4}))?);
    let client = Script::new().on_elicit(four).on_elicit(ElicitResult::decline()).connect(&server).await?;
    for expected in ["A table for 4 is booked.", "Nothing was booked."] {
        assert_eq!(client.call_tool("book", json!({})).await?.joined_text(), expected);
    }
    assert_eq!(client.answered_requests().len(), 2);
    client.finish().await?;
    println!("all passed");
    Ok(())
}
