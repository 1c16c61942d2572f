// A vendor-specific method, and a client that calls it.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trunkline::{Client, ClientError, Context, Json, Params, RequestOptions, Server};

#[derive(Deserialize, JsonSchema)]
struct Terms {
    terms: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
struct Sum {
    sum: i64,
}

async fn sum(ctx: Context, Params(given): Params<Terms>) -> Json<Sum> {
    ctx.progress(1.0, Some(1.0)).await;
    Json(Sum { sum: given.terms.iter().sum() })
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("sums", "1.0.0").request_handler("com.acme/sum", sum).build();

    let client = Client::connect(&server).await?;
    let params = serde_json::json!({"terms": [1, 2, 39]});
    let result: Sum = client.request_as("com.acme/sum", params, &RequestOptions::default()).await?;
    println!("{}", result.sum);
    Ok(())
}
