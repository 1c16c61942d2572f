//! Reading the body of a POST.

use super::admission::Permit;
use crate::http::rejection::Rejection;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::StatusCode;
use http_body::Body;
use http_body_util::BodyExt;
use std::{pin::pin, time::Duration};
use tokio::time::Instant;

/// Timeout of the next bytes of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a large body that must arrive within each [`WINDOW`]: 4 KiB per second.
const MIN_WINDOW_BYTES: usize = 40 << 10;
const WINDOW: Duration = Duration::from_secs(10);
/// Maximum total time for a body.
const DEADLINE: Duration = Duration::from_secs(600);

/// Reads a body of at most `max` bytes, charging it to the permit.
pub(super) async fn read<B: Body>(body: B, max: usize, permit: &mut Permit) -> Result<Bytes, Rejection> {
    let too_large = || {
        let text = format!("The message is larger than the limit of {max} bytes");
        Rejection::of_http(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    let announced = body.size_hint().lower();
    if announced > max as u64 {
        return Err(too_large());
    }
    permit.check_room(announced)?;
    let mut body = pin!(body);
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    let mut now = Instant::now();
    let (end, mut window, mut within) = (now + DEADLINE, now, 0);
    loop {
        // A slow large body uses memory that others need.
        if permit.is_large() && now - window >= WINDOW {
            if within < MIN_WINDOW_BYTES {
                return Err(too_late());
            }
            (window, within) = (now, 0);
        }
        let frame = match tokio::time::timeout_at(end.min(now + READ_TIMEOUT), body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(Rejection::of_http(StatusCode::BAD_REQUEST, "The body ended early")),
            Ok(None) => break,
            Err(_) => return Err(too_late()),
        };
        let Ok(mut data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.remaining() > max {
            return Err(too_large());
        }
        permit.hold(data.remaining())?;
        within += data.remaining();
        // Most bodies arrive in one piece, which is used without copying.
        if first.is_empty() && rest.is_empty() {
            first = data.copy_to_bytes(data.remaining());
        } else {
            rest.reserve(first.len() + data.remaining());
            rest.extend_from_slice(&std::mem::take(&mut first));
            rest.put(data);
        }
        if body.is_end_stream() {
            break;
        }
        now = Instant::now();
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

fn too_late() -> Rejection {
    Rejection::of_http(StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time")
}

#[cfg(test)]
mod tests {
    use super::{
        super::admission::{Admission, AdmissionLimits},
        *,
    };
    use http_body_util::{Full, StreamBody};
    use std::{convert::Infallible, sync::Arc, task::Poll};

    fn admission(bytes: usize) -> Arc<Admission> {
        Admission::new(AdmissionLimits { bytes, ..AdmissionLimits::default() })
    }

    async fn read<B: Body>(body: B, max: usize) -> Result<Bytes, Rejection> {
        super::read(body, max, &mut admission(1 << 20).permit(None)).await
    }

    #[tokio::test]
    async fn a_body_beyond_the_budget_is_refused_at_once_or_when_it_runs_out() {
        let admission = admission(4);
        let mut other = admission.permit(None);
        other.hold(1).unwrap();
        let announced = Full::new(Bytes::from_static(b"abcd"));
        assert_eq!(super::read(announced, 9, &mut admission.permit(None)).await.unwrap_err().status, 503);
        let body = || StreamBody::new(Pieces(vec![b"ab", b"cd"]));
        assert_eq!(super::read(body(), 9, &mut admission.permit(None)).await.unwrap_err().status, 503);
        drop(other);
        assert_eq!(super::read(body(), 9, &mut admission.permit(None)).await.unwrap(), "abcd");
    }

    #[tokio::test]
    async fn bodies_are_read_whole_and_bounded() {
        assert_eq!(read(Full::new(Bytes::from_static(b"abc")), 3).await.unwrap(), "abc");
        assert_eq!(read(Full::new(Bytes::new()), 3).await.unwrap(), "");
        assert_eq!(read(Full::new(Bytes::from_static(b"abcd")), 3).await.unwrap_err().status, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_body_that_trickles_times_out_and_a_small_one_does_not() {
        async fn trickling(first: usize) -> Result<Bytes, Rejection> {
            let (sender, pieces) = tokio::sync::mpsc::channel(1);
            let sending = tokio::spawn(async move {
                let _ = sender.send(Bytes::from(vec![b' '; first])).await;
                for _ in 0..5 {
                    tokio::time::sleep(Duration::from_secs(20)).await;
                    let _ = sender.send(Bytes::from_static(b" ")).await;
                }
            });
            let outcome = read(StreamBody::new(Received(pieces)), 1 << 20).await;
            sending.abort();
            outcome
        }
        let (began, outcome) = (Instant::now(), trickling(100 << 10).await);
        assert_eq!(outcome.unwrap_err().status, 408);
        assert!(began.elapsed() < Duration::from_secs(45));
        assert_eq!(trickling(1 << 10).await.unwrap().len(), (1 << 10) + 5);
    }

    struct Received(tokio::sync::mpsc::Receiver<Bytes>);

    impl futures_core::Stream for Received {
        type Item = Result<http_body::Frame<Bytes>, Infallible>;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> Poll<Option<Self::Item>> {
            self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(http_body::Frame::data(piece))))
        }
    }

    struct Pieces(Vec<&'static [u8]>);

    impl futures_core::Stream for Pieces {
        type Item = Result<http_body::Frame<Bytes>, Infallible>;

        fn poll_next(mut self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Option<Self::Item>> {
            let next = (!self.0.is_empty()).then(|| self.0.remove(0));
            Poll::Ready(next.map(|piece| Ok(http_body::Frame::data(Bytes::from_static(piece)))))
        }
    }

    #[tokio::test]
    async fn pieces_are_joined_and_counted() {
        let body = || StreamBody::new(Pieces(vec![b"ab", b"", b"cd", b"e"]));
        assert_eq!(read(body(), 5).await.unwrap(), "abcde");
        assert_eq!(read(body(), 4).await.unwrap_err().status, 413);
    }

    /// Sends one byte per interval.
    struct Trickle(Duration, std::pin::Pin<Box<tokio::time::Sleep>>);

    impl Body for Trickle {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            std::task::ready!(self.1.as_mut().poll(context));
            self.1 = Box::pin(tokio::time::sleep(self.0));
            Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(b" ")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_that_stop_or_trickle_end() {
        for (pause, seconds) in [(100_000, 30), (20, 600)] {
            let start = tokio::time::Instant::now();
            let pause = Duration::from_secs(pause);
            let body = Trickle(pause, Box::pin(tokio::time::sleep(pause)));
            assert_eq!(read(body, 1 << 20).await.unwrap_err().status, 408);
            assert_eq!(start.elapsed().as_secs(), seconds);
        }
    }
}
