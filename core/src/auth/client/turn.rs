//! An async lock that needs no runtime.

use crate::sync::Mutex;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Poll, Waker},
};

#[derive(Default)]
pub(super) struct RefreshTurns(Arc<Mutex<TurnState>>);

#[derive(Default)]
struct TurnState {
    taken: bool,
    waiting: Vec<Waker>,
}

/// The turn of a task, released on drop.
pub(super) struct RefreshTurn(Arc<Mutex<TurnState>>);

impl RefreshTurns {
    pub(super) async fn take(&self) -> RefreshTurn {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if !std::mem::replace(&mut state.taken, true) {
                return Poll::Ready(RefreshTurn(Arc::clone(&self.0)));
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for RefreshTurn {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.0.lock();
            state.taken = false;
            std::mem::take(&mut state.waiting)
        };
        // Wake all of them, because a single one may have been dropped in the meantime.
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_are_taken_one_after_the_other() {
        let turns = Arc::new(RefreshTurns::default());
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
}
