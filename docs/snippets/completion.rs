// Suggestions for a prompt argument while the user types.
use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Client, ClientError, Params, Prompt, Server, protocol::model::CompleteParams};

const CITIES: [&str; 3] = ["Oslo", "Osaka", "Rome"];

#[derive(Deserialize, JsonSchema)]
struct Trip {
    city: String,
}

async fn cities(asked: CompleteParams) -> Vec<&'static str> {
    CITIES.into_iter().filter(|city| city.starts_with(&asked.argument.value)).collect()
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let packing = Prompt::new("packing", "List the things to pack for a city.", async |Params(trip): Params<Trip>| {
        format!("Write a packing list for {}.", trip.city)
    });
    let server = Server::builder("trips", "1.0.0").add_prompt(packing.complete("city", cities)).build();

    let client = Client::connect(&server).await?;
    println!("{}", client.complete_prompt("packing", "city", "Os").await?.values.join(", "));
    Ok(())
}
