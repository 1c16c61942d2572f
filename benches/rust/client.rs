//! The bench client in Rust: `client N INFLIGHT -- COMMAND...` or `client N INFLIGHT URL`.
//! With INFLIGHT `resource`, it reads a resource N times.

use serde_json::json;
use std::{error::Error, io};
use tokio::task::JoinSet;
use trunkline::{
    RevisionChoice,
    client::{Client, ClientOptions},
    protocol::{Revision, model::ResourceContents},
    transport::{ChildCommand, Target},
};

type Failure = Box<dyn Error + Send + Sync>;

async fn call(client: &Client, i: usize) -> Result<(), Failure> {
    let message = format!("m{i}");
    let result = client.call_tool("echo", json!({"message": message})).await?;
    if result.joined_text() != message {
        return Err(format!("wrong text: {:?}", result.content).into());
    }
    Ok(())
}

/// Characters of base64 in the resource.
const BLOB_LENGTH: usize = 16 << 20;

async fn read(client: &Client, calls: usize) -> Result<(), Failure> {
    for _ in 0..calls {
        let result = client.read_resource("bench:blob").await?;
        if !matches!(&result.contents[..], [ResourceContents::Blob(contents)] if contents.blob.len() == BLOB_LENGTH) {
            return Err("wrong contents".into());
        }
    }
    Ok(())
}

async fn run(client: &Client, calls: usize, in_flight: usize) -> Result<(), Failure> {
    let mut workers = JoinSet::new();
    for number in 0..in_flight {
        let client = client.clone();
        workers.spawn(async move {
            for i in (number..calls).step_by(in_flight) {
                call(&client, i).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    Ok(())
}

// One thread is enough for such cheap calls and avoids hops between threads.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (calls, in_flight, target): (_, _, Target) = match &words[..] {
        [calls, in_flight, dashes, command @ ..] if dashes == "--" && !command.is_empty() => {
            (calls, in_flight, ChildCommand::new(command).into())
        }
        [calls, in_flight, url] => (calls, in_flight, url.as_str().into()),
        _ => return Err("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL".into()),
    };
    let options = ClientOptions::default().with_revision(RevisionChoice::Pinned(Revision::V2025_11_25));
    let client = Client::connect_with(target, options, ()).await?;
    let reads = in_flight == "resource";
    for i in 0..if reads { 0 } else { 200 } {
        call(&client, i).await?;
    }
    println!("READY");
    io::stdin().read_line(&mut String::new())?;
    if reads {
        read(&client, calls.parse()?).await?;
    } else {
        run(&client, calls.parse()?, in_flight.parse()?).await?;
    }
    println!("DONE");
    io::copy(&mut io::stdin(), &mut io::sink())?;
    client.close().await;
    Ok(())
}
