// A prompt with arguments, one of them optional, and a client that gets it.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use trunkline::{Client, ClientError, Params, Server, protocol::model::PromptMessage};

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review
    code: String,
    focus: Option<String>,
}

async fn review(Params(of): Params<Review>) -> [PromptMessage; 2] {
    let focus = of.focus.as_deref().unwrap_or("errors");
    [
        PromptMessage::user(format!("Review this code, above all for {focus}: {}", of.code)),
        PromptMessage::assistant("I will list each finding with its line."),
    ]
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("review", "1.0.0").prompt("review", "Review code.", review).build();

    let client = Client::connect(&server).await?;
    for prompt in client.list_prompts().await? {
        let all = prompt.arguments.unwrap_or_default();
        let needed: Vec<_> = all.iter().filter(|argument| argument.required).map(|argument| &*argument.name).collect();
        println!("{}: {} Needs {}.", prompt.name, prompt.description.unwrap_or_default(), needed.join(", "));
    }
    for message in client.get_prompt("review", json!({"code": "x = 1"})).await?.messages {
        println!("{}: {}", message.role.as_str(), message.content.as_text().unwrap_or_default());
    }
    Ok(())
}
