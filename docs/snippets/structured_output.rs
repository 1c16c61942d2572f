// A tool that returns an object with a schema.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::error::Error;
use trunkline::{Client, Json, Params, Server};

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

/// The weather of one day.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Weather {
    sky: String,
    degrees: f64,
}

async fn weather(Params(place): Params<Place>) -> Json<Weather> {
    Json(Weather { sky: format!("snow over {}", place.city), degrees: -3.5 })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("weather", "1.0.0").tool("weather", "The weather of a city.", weather).build();

    let client = Client::connect(&server).await?;
    let result = client.call_tool("weather", json!({"city": "Oslo"})).await?;
    println!("{}", result.joined_text());
    let today: Weather = result.structured_as()?;
    println!("{}, {} degrees", today.sky, today.degrees);
    Ok(())
}
