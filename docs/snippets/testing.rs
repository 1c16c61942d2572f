// Tests of a server without sockets or processes. In your crate, make them functions with
// `#[tokio::test]`.
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use trunkline::{Client, ClientError, ClientOptions, Params, Revision, RevisionChoice, Server, ToolError};

#[derive(Deserialize, JsonSchema)]
struct Divide {
    dividend: f64,
    divisor: f64,
}

async fn divide(Params(of): Params<Divide>) -> Result<f64, ToolError> {
    if of.divisor == 0.0 {
        return Err(ToolError::new("division by zero"));
    }
    Ok(of.dividend / of.divisor)
}

async fn the_function_itself() {
    let quotient = divide(Params(Divide { dividend: 3.0, divisor: 2.0 })).await;
    assert_eq!(quotient.ok(), Some(1.5));
}

async fn a_call_through_the_protocol(server: &Server, revision: Revision) -> Result<(), ClientError> {
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(revision));
    let client = Client::builder().options(options).connect(server).await?;
    assert_eq!(client.revision(), revision);
    let result = client.call_tool("divide", json!({"dividend": 3, "divisor": 2})).await?;
    assert_eq!((result.is_error, result.joined_text().as_str()), (false, "1.5"));
    Ok(())
}

async fn failures(server: &Server) -> Result<(), ClientError> {
    let client = Client::connect(server).await?;
    let result = client.call_tool("divide", json!({"dividend": 3, "divisor": 0})).await?;
    assert!(result.is_error);
    println!("the handler failed: {}", result.joined_text());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("calculator", "1.0.0").tool("divide", "Divide two numbers.", divide).build();
    the_function_itself().await;
    for revision in [Revision::V2026_07_28, Revision::V2024_11_05] {
        a_call_through_the_protocol(&server, revision).await?;
    }
    failures(&server).await?;
    println!("all passed");
    Ok(())
}
