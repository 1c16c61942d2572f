// A tool called as a task: the client follows its status, then gets the result.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use trunkline::{Client, ClientError, Context, Params, Server, ServerOptions, Tool, server::TaskSupport};

#[derive(Deserialize, JsonSchema)]
struct Report {
    year: u16,
}

async fn report(ctx: Context, Params(of): Params<Report>) -> String {
    ctx.set_task_message("half of it is written");
    tokio::time::sleep(Duration::from_millis(100)).await;
    format!("The report of {}", of.year)
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let report = Tool::new("report", "Write the report of a year.", report).task(TaskSupport::Optional);
    let options = ServerOptions::default().with_task_poll_interval(Duration::from_millis(50));
    let server = Server::builder("reports", "1.0.0").options(options).add_tool(report).build();

    let client = Client::connect(&server).await?;
    let mut task = client.start_task("report", json!({"year": 2026})).await?;
    let mut status = None;
    while let Some(state) = task.next().await {
        status = Some(state?.status); // with `status_message`, for people
    }
    println!("{}", status.map_or_else(String::new, |status| status.as_str().to_owned()));
    println!("{}", task.result().await?.joined_text());
    Ok(())
}
