// A task that outlives its server: the next one finds the result in the same file.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use trunkline::{Client, ClientError, Params, Server, ServerOptions, Tool, server::TaskSupport, store::StoreChoice};

#[derive(Deserialize, JsonSchema)]
struct Report {
    year: u16,
}

async fn report(Params(of): Params<Report>) -> String {
    format!("The report of {}", of.year)
}

fn reports(file: &str) -> Server {
    let report = Tool::new("report", "Write the report of a year.", report).task(TaskSupport::Optional);
    let options = ServerOptions::default().with_store(StoreChoice::url(format!("sqlite:{file}")));
    Server::builder("reports", "1.0.0").options(options).add_tool(report).build()
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let file = std::env::temp_dir().join(format!("reports-{}.db", std::process::id()));
    let file = file.to_string_lossy();

    let client = Client::connect(&reports(&file)).await?;
    let task = client.start_task("report", json!({"year": 2026})).await?;
    task.result().await?;
    let id = task.id().unwrap_or_default();

    let client = Client::connect(&reports(&file)).await?;
    let again = client.resume_task(&id).await?;
    println!("{}", again.result().await?.joined_text());
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{file}{ending}"));
    }
    Ok(())
}
