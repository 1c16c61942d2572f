//! Calls a tool as a task: shows its states as they come, then its result.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{error::Error, time::Duration};
use trunkline::{
    Client, Params, Server,
    server::{Context, ServerOptions, TaskSupport, Tool},
};

#[derive(Deserialize, JsonSchema)]
struct Report {
    year: u16,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let report =
        Tool::new("report", "Writes the report of a year.", async |ctx: Context, Params(report): Params<Report>| {
            ctx.set_task_message("half of it is written");
            tokio::time::sleep(Duration::from_millis(200)).await;
            format!("The report of {}", report.year)
        });
    let options = ServerOptions::default().with_task_poll_interval(Duration::from_millis(50));
    let server =
        Server::builder("reports", "1.0.0").options(options).add_tool(report.task(TaskSupport::Optional)).build();

    let client = Client::connect(&server).await?;
    let mut task = client.start_task("report", json!({"year": 2026})).await?;
    while let Some(state) = task.next().await {
        let state = state?;
        println!("{} {}", state.status.as_str(), state.status_message.unwrap_or_default());
    }
    println!("{}", task.result().await?.joined_text());
    client.close().await;
    Ok(())
}
