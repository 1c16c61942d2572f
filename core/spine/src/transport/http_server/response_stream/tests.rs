use super::{
    super::{
        admission::{Admission, AdmissionLimits},
        history::ReplayBudget,
        session_table::HttpSession,
    },
    *,
};
use std::task::Waker;

fn next(reader: &mut StreamReader) -> Poll<Option<StreamItem>> {
    reader.poll_next(&mut Context::from_waker(Waker::noop()))
}

/// The next message with its position.
fn read(reader: &mut StreamReader) -> String {
    match next(reader) {
        Poll::Ready(Some(StreamItem::Message(id, outgoing))) => {
            let text = String::from_utf8_lossy(outgoing.message().unwrap()).into_owned();
            id.map_or(text.clone(), |id| format!("{id} {text}"))
        }
        Poll::Ready(Some(StreamItem::HungUp(pause))) => format!("retry {}", pause.as_millis()),
        Poll::Ready(None) => "end".into(),
        Poll::Pending => "pending".into(),
    }
}

fn note(text: &'static str) -> OutgoingMessage {
    OutgoingMessage::Notification(Bytes::from_static(text.as_bytes()))
}

fn answer(text: &'static str) -> OutgoingMessage {
    OutgoingMessage::result(Bytes::from_static(text.as_bytes()))
}

fn history() -> Arc<History> {
    History::new(&ReplayBudget::new(10_000, (100, 1000), Duration::from_millis(5)), None, None)
}

/// Both ends of a stream of that kind.
fn ends(kind: StreamKind) -> (Arc<dyn Outbound>, StreamReader) {
    let admission = Admission::new(AdmissionLimits::default());
    let stream = Stream::new(kind);
    let reader = stream.attach();
    (Answers::channel(stream, admission.permit(None), Arrival::default()), reader)
}

fn resumable(history: &Arc<History>) -> (Arc<dyn Outbound>, StreamReader) {
    let kind = StreamKind::Resumable { history: Arc::clone(history), requests: Vec::new(), polls: true };
    let (answers, reader) = ends(kind);
    reader.expect(1);
    (answers, reader)
}

fn resume(history: &Arc<History>, id: &str) -> Option<StreamReader> {
    history.resume(EventId::parse(id).unwrap())
}

#[test]
fn http_33_messages_wait_for_a_stream_and_are_sent_once() {
    let stream = Stream::new(StreamKind::Unrelated(None));
    for text in ["a", "b", "a"] {
        stream.send(note(text));
    }
    let mut reader = stream.attach();
    assert_eq!([read(&mut reader), read(&mut reader), read(&mut reader)], ["a", "b", "pending"]);
}

#[test]
fn an_idle_session_is_small() {
    let budget = ReplayBudget::new(10_000, (100, 1000), Duration::ZERO);
    let stream = Stream::new(StreamKind::Unrelated(Some(History::new(&budget, None, None))));
    stream.send(note("waits"));
    let reader = stream.attach();
    assert_eq!(budget.sessions(), 0, "there is nothing to resume");
    reader.open(None);
    assert_eq!(budget.sessions(), 1);

    let sizes = [size_of::<Connection>(), size_of::<Stream>(), size_of::<History>(), size_of::<HttpSession>()];
    assert!(sizes.iter().sum::<usize>() <= 1200, "{sizes:?}");
}

#[test]
fn http_35_a_newer_stream_takes_over() {
    let stream = Stream::new(StreamKind::Unrelated(None));
    let (mut first, mut second) = (stream.attach(), stream.attach());
    stream.send(note("a"));
    assert_eq!(read(&mut first), "end");
    drop(first);
    assert!(stream.is_attached());
    assert_eq!(read(&mut second), "a");
    stream.send(note("last"));
    stream.finish();
    assert_eq!([read(&mut second), read(&mut second)], ["last", "end"]);
    drop(second);
    assert!(!stream.is_attached());
}

#[test]
fn http_39_and_40_a_broken_stream_resumes_where_it_broke() {
    let history = history();
    let (answers, mut reader) = resumable(&history);
    answers.send(note("a"));
    reader.open(None);
    assert_eq!(read(&mut reader), "0-1 a");
    answers.send(note("b"));
    drop(reader);
    answers.send(note("c"));
    // Taken over while it lives, and again: each time what that client has not seen.
    let mut second = resume(&history, "0-0").unwrap();
    assert_eq!([read(&mut second), read(&mut second)], ["0-1 a", "0-2 b"]);
    let mut third = resume(&history, "0-1").unwrap();
    assert_eq!(read(&mut second), "end");
    drop(second);
    assert_eq!([read(&mut third), read(&mut third), read(&mut third)], ["0-2 b", "0-3 c", "pending"]);
    assert!(answers.can_ask());
    answers.send(answer("done"));
    assert_eq!([read(&mut third), read(&mut third)], ["0-4 done", "end"]);
    assert!(third.is_done());
    drop((answers, third));
    // Even when it has ended.
    let mut late = resume(&history, "0-3").unwrap();
    assert_eq!([read(&mut late), read(&mut late)], ["0-4 done", "end"]);
    assert!(resume(&history, "0-5").is_none() && resume(&history, "1-0").is_none());
}

#[test]
fn http_22_an_answer_that_nobody_reads_waits_for_its_client() {
    let history = history();
    let (answers, reader) = resumable(&history);
    reader.open(None);
    drop(reader);
    answers.send(note("a"));
    answers.send(answer("done"));
    drop(answers);
    let mut late = resume(&history, "0-0").unwrap();
    assert_eq!([read(&mut late), read(&mut late), read(&mut late)], ["0-1 a", "0-2 done", "end"]);
    // A client that was never told of the stream cannot come back, and nothing is kept for it.
    let (answers, reader) = resumable(&history);
    drop(reader);
    answers.send(answer("lost"));
    assert!(!answers.can_ask() && resume(&history, "1-0").is_none());
}

#[test]
fn http_27_a_stream_is_closed_early_and_polled() {
    let history = history();
    let (answers, mut reader) = resumable(&history);
    answers.close_stream();
    answers.send(note("a"));
    reader.open(None);
    assert_eq!([read(&mut reader), read(&mut reader), read(&mut reader)], ["0-1 a", "retry 5", "end"]);
    drop(reader);
    // With nobody there to hang up on, nothing happens.
    answers.close_stream();
    let mut again = resume(&history, "0-1").unwrap();
    assert_eq!(read(&mut again), "pending");
    answers.send(answer("done"));
    answers.close_stream();
    assert_eq!([read(&mut again), read(&mut again)], ["0-2 done", "end"]);

    let kind = StreamKind::Resumable { history: Arc::clone(&history), requests: Vec::new(), polls: false };
    let (answers, mut reader) = ends(kind);
    reader.expect(1);
    answers.close_stream();
    assert_eq!(read(&mut reader), "pending");
}

#[test]
fn without_an_answer_the_stream_ends_when_nobody_can_give_one() {
    let (answers, mut reader) = ends(StreamKind::Answer { streams: false, in_session: true });
    reader.expect(1);
    answers.send(note("dropped"));
    assert!(!answers.can_ask());
    assert_eq!(read(&mut reader), "pending");
    drop(answers);
    assert_eq!(read(&mut reader), "end");
}

/// The events of a stream and its readers.
#[derive(Debug, Clone, Copy)]
enum Step {
    Send,
    Read,
    Disconnect,
    Resume,
    Close,
}

proptest::proptest! {
    /// A client that comes back with the last event it saw has every message once, in order,
    /// wherever the stream broke.
    #[test]
    fn http_38_no_message_is_lost_or_repeated(steps in proptest::collection::vec(0..5u8, 0..60)) {
        let history = history();
        let (answers, first) = resumable(&history);
        first.open(None);
        let (mut reader, mut last, mut sent, mut seen) = (Some(first), "0-0".to_owned(), 0, Vec::new());
        let mut take = |reader: &mut StreamReader, last: &mut String| -> bool {
            match next(reader) {
                Poll::Ready(Some(StreamItem::Message(id, outgoing))) => {
                    *last = id.expect("a place").to_string();
                    seen.push(String::from_utf8_lossy(outgoing.message().unwrap()).into_owned());
                    true
                }
                Poll::Ready(Some(StreamItem::HungUp(_))) => true,
                Poll::Ready(None) | Poll::Pending => false,
            }
        };
        for step in steps {
            match [Step::Send, Step::Read, Step::Disconnect, Step::Resume, Step::Close][usize::from(step)] {
                Step::Send => {
                    answers.send(OutgoingMessage::Notification(sent.to_string().into()));
                    sent += 1;
                }
                Step::Read => drop(reader.as_mut().map(|reader| take(reader, &mut last))),
                Step::Disconnect => drop(reader.take()),
                Step::Resume => reader = resume(&history, &last),
                Step::Close => answers.close_stream(),
            }
        }
        answers.send(answer("done"));
        drop(answers);
        // The unread messages are there for a client that comes back, even after the stream has
        // ended.
        drop(reader);
        let mut reader = resume(&history, &last).expect("the stream is forgotten");
        while take(&mut reader, &mut last) {}
        let expected: Vec<_> = (0..sent).map(|number| number.to_string()).chain(["done".to_owned()]).collect();
        proptest::prop_assert_eq!(seen, expected);
    }
}
