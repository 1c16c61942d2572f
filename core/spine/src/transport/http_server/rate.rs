//! The rate limit of an endpoint: a token bucket for each principal, or for each session without
//! authorization.

use crate::{http::rejection::Rejection, protocol::RpcError, sync::Mutex};
use http::{HeaderValue, StatusCode, header};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum number of buckets. Further callers share one.
const MAX_BUCKETS: usize = 100_000;

pub(super) struct RateLimit {
    /// Tokens added per second.
    per_second: f64,
    /// Capacity of a bucket.
    burst: f64,
    /// Buckets that are not full.
    buckets: Mutex<HashMap<Arc<str>, Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Instant,
}

impl RateLimit {
    /// Returns `None` if there is no limit.
    pub(super) fn new(per_minute: u32, burst: u32) -> Option<Self> {
        let (per_second, burst) = (f64::from(per_minute) / 60.0, f64::from(burst.max(1)));
        (per_minute > 0).then(|| Self { per_second, burst, buckets: Mutex::default() })
    }

    /// Takes tokens for this many requests, or returns the time until they are available.
    pub(super) fn take(&self, caller: &str, requests: usize, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock();
        let caller = if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(caller) {
            buckets.retain(|_, bucket| self.filled(bucket, now) < self.burst);
            if buckets.len() >= MAX_BUCKETS { "" } else { caller }
        } else {
            caller
        };
        let tokens = buckets.get(caller).map_or(self.burst, |bucket| self.filled(bucket, now));
        // A batch larger than the capacity needs a full bucket.
        let wanted = (requests as f64).min(self.burst);
        if tokens < wanted {
            return Err(Duration::from_secs_f64((wanted - tokens) / self.per_second));
        }
        let tokens = tokens - requests as f64;
        match buckets.get_mut(caller) {
            Some(bucket) => *bucket = Bucket { tokens, at: now },
            None => drop(buckets.insert(caller.into(), Bucket { tokens, at: now })),
        }
        Ok(())
    }

    fn filled(&self, bucket: &Bucket, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        (bucket.tokens + passed * self.per_second).min(self.burst)
    }
}

/// 429 with `Retry-After` (RFC 6585 section 4, RFC 9110 section 10.2.3).
pub(super) fn too_many(after: Duration) -> Rejection {
    let seconds = after.as_secs_f64().ceil().max(1.0) as u64;
    let error = RpcError::busy(&format!("too many requests from this client; try again in {seconds} s"));
    let mut rejection = Rejection::new(StatusCode::TOO_MANY_REQUESTS, None, &error);
    rejection.headers.push((header::RETRY_AFTER, HeaderValue::from(seconds)));
    rejection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_each_caller_has_its_own() {
        let limit = RateLimit::new(60, 3).unwrap();
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(limit.take("greedy", 1, start), Ok(()));
        }
        assert_eq!(limit.take("greedy", 1, start), Err(Duration::from_secs(1)));
        assert_eq!(limit.take("bystander", 1, start), Ok(()));
        let later = start + Duration::from_millis(1500);
        assert_eq!(limit.take("greedy", 1, later), Ok(()));
        assert_eq!(limit.take("greedy", 1, later), Err(Duration::from_millis(500)));
        let much_later = start + Duration::from_secs(3600);
        assert_eq!((0..9).filter(|_| limit.take("greedy", 1, much_later).is_ok()).count(), 3, "a bucket has a brim");
    }

    #[test]
    fn a_batch_takes_a_token_for_each_request() {
        let limit = RateLimit::new(60, 5).unwrap();
        let start = Instant::now();
        assert_eq!(limit.take("a", 4, start), Ok(()));
        assert_eq!(limit.take("a", 4, start), Err(Duration::from_secs(3)));
        assert_eq!(limit.take("b", 10, start), Ok(()), "a full bucket takes any");
        assert_eq!(limit.take("b", 1, start), Err(Duration::from_secs(6)), "and pays for it afterwards");
    }

    #[test]
    fn the_buckets_are_bounded_and_full_ones_are_forgotten() {
        let limit = RateLimit::new(60, 1).unwrap();
        let start = Instant::now();
        for caller in 0..MAX_BUCKETS {
            limit.take(&caller.to_string(), 1, start).unwrap();
        }
        assert_eq!(limit.take("one more", 1, start), Ok(()), "it is the first that shares");
        assert!(limit.take("another", 1, start).is_err());
        let later = start + Duration::from_secs(2);
        assert_eq!(limit.take("one more", 1, later), Ok(()));
        assert_eq!(limit.buckets.lock().len(), 1);
        assert!(RateLimit::new(0, 9).is_none());
    }
}
