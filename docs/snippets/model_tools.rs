// A server's tools in the formats of model providers, and a result as the model sees it.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline::{
    Client, ClientError, Params, Server,
    protocol::model::{CallToolResult, ContentBlock, Tool},
};

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    city: String,
}

async fn forecast(Params(of): Params<Forecast>) -> String {
    format!("{}: snow", of.city)
}

fn for_openai(tool: &Tool) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
    }})
}

fn for_anthropic(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

fn for_gemini(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema})
}

fn result_for_anthropic(tool_use: &str, result: &CallToolResult) -> Value {
    let content = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(json!({"type": "text", "text": text.text})),
        ContentBlock::Image(image) => {
            let source = json!({"type": "base64", "media_type": image.mime_type, "data": image.data});
            Some(json!({"type": "image", "source": source}))
        }
        _ => None,
    });
    let content: Vec<Value> = content.collect();
    json!({"type": "tool_result", "tool_use_id": tool_use, "content": content, "is_error": result.is_error})
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server =
        Server::builder("weather", "1.0.0").tool("forecast", "Forecast the weather of a city.", forecast).build();
    let client = Client::connect(&server).await?;
    for tool in client.list_tools().await? {
        let required = |schema: &Value| schema["required"][0].as_str().unwrap_or_default().to_owned();
        println!("openai: {} needs {}", tool.name, required(&for_openai(&tool)["function"]["parameters"]));
        println!("anthropic: {} needs {}", tool.name, required(&for_anthropic(&tool)["input_schema"]));
        println!("gemini: {} needs {}", tool.name, required(&for_gemini(&tool)["parametersJsonSchema"]));
    }
    let result = result_for_anthropic("toolu_1", &client.call_tool("forecast", json!({"city": "Oslo"})).await?);
    let block = &result["content"][0];
    println!("{}: {}", block["type"].as_str().unwrap_or_default(), block["text"].as_str().unwrap_or_default());
    Ok(())
}
