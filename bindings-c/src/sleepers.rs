//! The threads that wait on a port: one sleeps on the alarm, the others on a condition variable.

use std::time::Duration;

use crate::alarm::Alarm;
use crate::sync::{Condvar, Mutex};

#[derive(Default)]
pub(crate) struct Sleepers {
    sleep: Mutex<Sleep>,
    changed: Condvar,
}

#[derive(Default)]
struct Sleep {
    /// Moves with each change that a sleeper must look at.
    generation: u64,
    sleepers: usize,
    /// One of the sleepers waits on the alarm.
    on_alarm: bool,
}

impl Sleepers {
    /// To be asked before looking for what `wait` would wait for.
    pub(crate) fn generation(&self) -> u64 {
        self.sleep.lock().generation
    }

    /// Tells the sleepers to look again.
    pub(crate) fn nudge(&self, alarm: &Alarm) {
        let mut sleep = self.sleep.lock();
        sleep.generation += 1;
        if sleep.sleepers > 0 {
            self.changed.notify_all();
        }
        if sleep.on_alarm {
            alarm.set();
        }
    }

    /// Sleeps until the alarm or a nudge, unless there was one since that generation.
    pub(crate) fn wait(&self, alarm: &Alarm, generation: u64, timeout: Duration) {
        let mut sleep = self.sleep.lock();
        if sleep.generation != generation {
            return;
        }
        if sleep.on_alarm {
            sleep.sleepers += 1;
            sleep = self.changed.wait_for(sleep, timeout);
            sleep.sleepers -= 1;
            return;
        }
        sleep.on_alarm = true;
        drop(sleep);
        alarm.wait(timeout);
        let mut sleep = self.sleep.lock();
        sleep.on_alarm = false;
        sleep.generation += 1;
        // Another sleeper has to take over the alarm.
        self.changed.notify_all();
    }
}
