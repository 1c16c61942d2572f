// A tool with typed arguments, and a client in the same process.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use trunkline::{Client, ClientError, Params, Server};

#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// The name of the city.
    city: String,
    /// The number of days.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 7))]
    days: usize,
}

fn two() -> usize {
    2
}

async fn forecast(Params(of): Params<Forecast>) -> String {
    format!("{}: {}", of.city, vec!["snow"; of.days].join(", "))
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server =
        Server::builder("weather", "1.0.0").tool("forecast", "Forecast the weather of a city.", forecast).build();

    let client = Client::connect(&server).await?;
    for tool in client.list_tools().await? {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let result = client.call_tool("forecast", json!({"city": "Oslo"})).await?;
    println!("{}", result.joined_text());
    let result = client.call_tool("forecast", json!({"city": "Oslo", "days": 20})).await?;
    println!("{}", if result.is_error { "refused".to_owned() } else { result.joined_text() });
    Ok(())
}
