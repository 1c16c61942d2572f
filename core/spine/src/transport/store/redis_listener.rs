//! The pub/sub connection that announces log entries.

use crate::store::Waiting;
use futures_core::Stream as _;
use redis::{
    Client, RedisResult,
    aio::{PubSubSink, PubSubStream},
};
use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// An idle connection is probed this often.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The channel on which the name of each changed log is published.
pub(super) fn channel(prefix: &str) -> String {
    format!("{prefix}appended")
}

/// Wakes the reads of logs that get entries. Reconnects forever.
pub(super) async fn listen(client: Client, prefix: String, deadline: Duration, waiting: Arc<Waiting>) {
    loop {
        let connected = timeout(deadline, connect(&client, &prefix)).await;
        if let Ok(Ok((mut sink, mut stream))) = connected {
            // Entries added before the subscription were not announced.
            waiting.wake_all();
            while let Some(log) = next(&mut sink, &mut stream, deadline).await {
                waiting.wake(&log);
            }
        }
        sleep(RECONNECT_DELAY).await;
    }
}

async fn connect(client: &Client, prefix: &str) -> RedisResult<(PubSubSink, PubSubStream)> {
    let (mut sink, stream) = client.get_async_pubsub().await?.split();
    sink.subscribe(channel(prefix)).await?;
    Ok((sink, stream))
}

/// The name of the next log, or `None` if the connection is lost.
async fn next(sink: &mut PubSubSink, stream: &mut PubSubStream, deadline: Duration) -> Option<String> {
    loop {
        match timeout(PING_INTERVAL, poll_fn(|context| Pin::new(&mut *stream).poll_next(context))).await {
            Ok(message) => return message?.get_payload().ok(),
            Err(_) => timeout(deadline, sink.ping::<redis::Value>()).await.ok()?.map(drop).ok()?,
        }
    }
}
