//! An async lock that needs no runtime.

use crate::{
    runtime::{change, wait},
    sync::Mutex,
};
use once_cell::race::OnceBox;
use std::{
    collections::HashMap,
    process,
    sync::{Arc, Weak},
    task::Waker,
};

#[derive(Default)]
pub(crate) struct AuthTurns(Arc<Mutex<TurnState>>);

#[derive(Default)]
struct TurnState {
    taken: bool,
    waiting: Vec<Waker>,
}

/// The turn of a task, released on drop.
pub(crate) struct AuthTurn(Arc<Mutex<TurnState>>);

impl AuthTurns {
    pub(crate) async fn take(&self) -> AuthTurn {
        let take = |state: &mut TurnState| (!std::mem::replace(&mut state.taken, true)).then_some(());
        wait(&self.0, |state| &mut state.waiting, take).await;
        AuthTurn(Arc::clone(&self.0))
    }
}

/// The turns of everything in this process that may use a refresh token.
static REFRESH_TOKEN_TURNS: OnceBox<TurnsByKey> = OnceBox::new();

/// The turn of a refresh token in this process. Not every store has locks, and its keys don't tell
/// users apart: each may have a store of their own.
pub(super) async fn of_refresh_token(refresh_token: &str) -> AuthTurn {
    REFRESH_TOKEN_TURNS.get_or_init(Box::default).of(refresh_token).take().await
}

/// Turns by key. They exist while somebody takes or awaits one.
#[derive(Default)]
pub(crate) struct TurnsByKey(Mutex<HashMap<String, Weak<Mutex<TurnState>>>>);

impl TurnsByKey {
    pub(crate) fn of(&self, key: &str) -> AuthTurns {
        // Turns that were taken before a fork are never released in the child.
        let key = format!("{} {key}", process::id());
        let mut turns = self.0.lock();
        if let Some(state) = turns.get(&key).and_then(Weak::upgrade) {
            return AuthTurns(state);
        }
        turns.retain(|_, state| state.strong_count() > 0);
        let new = AuthTurns::default();
        turns.insert(key, Arc::downgrade(&new.0));
        new
    }
}

impl Drop for AuthTurn {
    fn drop(&mut self) {
        // This wakes all of them, because a single one may have been dropped in the meantime.
        change(&self.0, |state| &mut state.waiting, |state| state.taken = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, pin::pin, task::Poll};

    #[tokio::test]
    async fn turns_are_taken_one_after_the_other() {
        let turns = Arc::new(AuthTurns::default());
        let count = Arc::new(Mutex::new((0, 0)));
        let tasks: Vec<_> = (0..50)
            .map(|_| {
                let (turns, count) = (Arc::clone(&turns), Arc::clone(&count));
                tokio::spawn(async move {
                    let _turn = turns.take().await;
                    count.lock().0 += 1;
                    tokio::task::yield_now().await;
                    let mut count = count.lock();
                    count.0 -= 1;
                    assert_eq!(count.0, 0);
                    count.1 += 1;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(count.lock().1, 50);
    }

    #[tokio::test]
    async fn turns_of_a_key_exist_while_they_are_used() {
        let turns = TurnsByKey::default();
        let taken = turns.of("a").take().await;
        {
            let (same, other) = (turns.of("a"), turns.of("b"));
            other.take().await;
            let mut waiting = pin!(same.take());
            assert!(poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await.is_pending());
            drop(taken);
            waiting.await;
        }
        drop(turns.of("c"));
        assert_eq!(turns.0.lock().len(), 1);
    }
}
