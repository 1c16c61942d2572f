// A tool that samples the client's model, and a client with a model.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use trunkline::{
    CallError, Client, ClientError, Context, Params, Server,
    client::{HandlerError, SampleRequest},
    protocol::model::{CreateMessageParams, CreateMessageResult, SamplingMessage},
};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[expect(deprecated, reason = "for older revisions")]
async fn summarize(ctx: Context, Params(of): Params<Text>) -> Result<String, CallError> {
    let question = SamplingMessage::user(format!("Summarize in three words: {}", of.text));
    Ok(ctx.sample(CreateMessageParams::new([question], 50)).await?.joined_text())
}

async fn sample(request: SampleRequest) -> Result<CreateMessageResult, HandlerError> {
    println!("at most {} tokens", request.max_tokens); // here the host asks its model
    Ok(serde_json::from_value(json!({
        "role": "assistant",
        "content": {"type": "text", "text": "Snow in Oslo"},
        "model": "a-model",
    }))?)
}

#[expect(deprecated, reason = "for older revisions")]
#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("notes", "1.0.0").tool("summarize", "Summarize a text.", summarize).build();
    let client = Client::builder().on_sample(sample).connect(&server).await?;
    let text = "It has been snowing in Oslo since Monday.";
    println!("{}", client.call_tool("summarize", json!({"text": text})).await?.joined_text());
    Ok(())
}
