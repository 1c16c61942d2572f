//! The server of the page about the program: `docs/program.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{
    Json, Params, Prompt, Resource, Server, Tool, ToolError,
    protocol::model::{CompleteParams, ToolAnnotations},
    server::CompletionTarget,
};

#[derive(Deserialize, JsonSchema)]
struct Request {
    /// Name of the city
    city: String,
    /// Number of days
    #[serde(default = "one")]
    days: u32,
}

fn one() -> u32 {
    1
}

#[derive(Serialize, JsonSchema)]
struct Day {
    day: u32,
    sky: String,
    high: i32,
}

#[derive(Deserialize, JsonSchema)]
struct Trip {
    /// Where to
    city: String,
}

async fn forecast(Params(request): Params<Request>) -> Result<Json<Vec<Day>>, ToolError> {
    if !CITIES.contains(&&*request.city) {
        return Err(ToolError::new(format!("There is no station in {}", request.city)));
    }
    let day = |day| Day { day, sky: if day % 2 == 0 { "rain" } else { "sun" }.to_owned(), high: 20 - day as i32 };
    Ok(Json((1..=request.days).map(day).collect()))
}

const CITIES: [&str; 3] = ["Bergen", "Oslo", "Ostrava"];

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let pack = Prompt::new("pack", "What to pack for a trip", async |Params(trip): Params<Trip>| {
        format!("What should I pack for {}?", trip.city)
    });
    Server::builder("weather", "1.4.0")
        .add_tool(
            Tool::new("forecast", "Forecast the weather of a city", forecast)
                .annotations(ToolAnnotations::default().with_read_only(true).with_idempotent(true)),
        )
        .add_resource(
            Resource::new("weather://stations", "stations", async || CITIES.join("\n"))
                .description("All stations, one a line"),
        )
        .add_prompt(pack)
        .completion(CompletionTarget::Prompt("pack".into()), "city", async |asked: CompleteParams| {
            CITIES.into_iter().filter(|city| city.starts_with(&asked.argument.value)).collect::<Vec<_>>()
        })
        .build()
        .serve_stdio()
        .await
}
