// Table rows as resources: listed page by page and read on request.
use std::convert::Infallible;
use trunkline::{
    Client, ClientError, Context, Server,
    protocol::model::Resource,
    server::{Page, Provider, ResourceRequest},
};

const PAGE: usize = 2;

/// A table with this many rows.
struct Rows(usize);

impl Provider for Rows {
    type Item = Resource;
    type Output = String;
    type Error = Infallible;

    async fn list(&self, _: Context, cursor: Option<String>) -> Result<Page<Resource>, Infallible> {
        let start = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let end = self.0.min(start + PAGE);
        let items = (start + 1..=end).map(|row| Resource::new(format!("rows://{row}"), format!("row {row}")));
        Ok(if end < self.0 { Page::with_next_cursor(items, end.to_string()) } else { Page::last(items) })
    }

    async fn get(&self, _: Context, request: ResourceRequest) -> Result<Option<String>, Infallible> {
        let row = request.uri.strip_prefix("rows://").and_then(|row| row.parse::<usize>().ok());
        Ok(row.filter(|row| (1..=self.0).contains(row)).map(|row| format!("value {row}")))
    }
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let server = Server::builder("table", "1.0.0").provider(Rows(5)).build();

    let client = Client::connect(&server).await?;
    let names: Vec<_> = client.list_resources().await?.into_iter().map(|resource| resource.name).collect();
    println!("{}", names.join(", "));
    println!("{}", client.read_resource("rows://4").await?.contents[0].as_text().unwrap_or_default());
    Ok(())
}
