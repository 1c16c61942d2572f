//! A server with one tool. Over stdio: `server`; over HTTP: `server 8000`

use schemars::JsonSchema;
use serde::Deserialize;
use std::error::Error;
use trunkline::{Context, Params, Server, ToolError};

const CITIES: [(&str, &str); 2] = [("Oslo", "snow"), ("Rome", "sunny")];

/// The comments and attributes of this type define the tool's input schema.
#[derive(Deserialize, JsonSchema)]
struct Forecast {
    /// The name of the city
    city: String,
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 7))]
    days: u32,
}

fn three() -> u32 {
    3
}

async fn forecast(ctx: Context, Params(asked): Params<Forecast>) -> Result<String, ToolError> {
    let weather = CITIES.iter().find(|(city, _)| *city == asked.city).map(|(_, weather)| weather);
    let Some(weather) = weather else {
        let known = CITIES.map(|(city, _)| city).join(" or ");
        return Err(ToolError::new(format!("no forecast for {}; try {known}", asked.city)));
    };
    let mut lines = Vec::new();
    for day in 1..=asked.days {
        lines.push(format!("day {day}: {weather}"));
        ctx.progress(day.into(), Some(asked.days.into())).await;
    }
    Ok(lines.join("\n"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server =
        Server::builder("weather", "1.0.0").tool("forecast", "Forecast the weather of a city.", forecast).build();
    match std::env::args().nth(1) {
        None => server.serve_stdio().await?,
        Some(port) => {
            let listener = server.listen(&format!("127.0.0.1:{port}")).await?;
            println!("listening at {}", listener.url().unwrap_or_default());
            listener.run().await?;
        }
    }
    Ok(())
}
