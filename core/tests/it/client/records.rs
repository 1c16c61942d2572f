//! Records of what a server sends that is not a message, or an invalid response.

use super::*;
use trunkline::{RevisionChoice, wire_log::MessageInfo};

/// The text of each record that was refused.
#[derive(Default)]
pub(super) struct Records(Mutex<Vec<String>>);

impl WireLog for Records {
    fn text(&self, exchange: &MessageInfo<'_>, text: &[u8]) {
        if exchange.refused {
            self.0.lock().unwrap().push(String::from_utf8_lossy(text).into_owned());
        }
    }
}

#[tokio::test]
async fn what_is_no_message_is_recorded_once_as_it_came() {
    let fake = Fake::process(|peer, message| {
        if message["method"] == "initialize" {
            peer.accept(message, "2025-03-26");
        }
    });
    let records = fake.clock.records.get_or_init(Records::default);
    let _client = fake.connect(ClientOptions::default().with_revision(RevisionChoice::Legacy)).await;
    let say = |frame: &str| fake.peer().inbox.message(frame.to_owned().into());
    let odd = [
        "hello",
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"broken"}"#,
        r#"[{"jsonrpc":"2.0","result":{}},{"jsonrpc":"2.0","method":"a"},{"id":1,"result":{}},5]"#,
    ];
    odd.iter().for_each(|frame| say(frame));
    say(r#"{"jsonrpc":"2.0","method":"notifications/a"}"#);
    assert_eq!(std::mem::take(&mut *records.0.lock().unwrap()), odd);
    // A server may print without an end.
    (0..100).for_each(|number| say(&format!("line {number}")));
    let lines = records.0.lock().unwrap().len();
    assert_eq!(lines, 17, "20 frames without a message, three of them before");
}
