//! The reading of a pipe, lent to the host's own event loop.
//!
//! The hop from the thread that reads to the host's thread costs more than all the rest of a small call, where a core has to be
//! woken for it. So while messages come one by one, the host watches the pipe and reads it itself. The thread sleeps meanwhile. It
//! takes the reading back when messages become many, for then two threads do more than one, and when the host has not read for a
//! while: a host that is busy, blocked or gone never stops the reading.

use super::intake::{Got, Intake};
use crate::sync::{Condvar, Mutex};
use std::{
    fs::File,
    mem,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// Turns that the peer took one by one: after so many the reading is lent.
const CALM: u32 = 8;
/// A read by the host that brings more messages ends the loan.
const FEW: usize = 4;
/// A host that has not read for so long loses the loan.
const TERM: Duration = Duration::from_millis(100);
/// A loan that nobody read from costs its term: the next one is offered after twice as many turns, so many times in a row.
const DOUBLINGS: u32 = 10;

/// Where the thread that reads and the host that reads for it meet.
#[derive(Default)]
pub struct Lender {
    loan: Mutex<Loan>,
    returned: Condvar,
    /// Loans in a row that nobody read from.
    unused: AtomicU32,
    offer: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
enum Loan {
    #[default]
    None,
    Out {
        intake: Intake,
        /// The host has read since the thread looked last.
        used: bool,
    },
    /// The host is reading.
    InUse,
    Returned(Intake),
}

impl Lender {
    /// From now on there are loans. `offer` is called for each, on the thread that reads, with no lock held.
    pub fn lend_to(&self, offer: impl Fn() + Send + Sync + 'static) {
        // There is one host, so it is set once.
        let _ = self.offer.set(Box::new(offer));
    }

    /// How many turns one by one it takes until the reading is lent.
    pub(super) fn turns(&self) -> u32 {
        CALM << self.unused.load(Ordering::Relaxed)
    }

    /// Lends, and waits until the host gives back or does not read any more.
    pub(super) fn lend(&self, intake: Intake) -> Intake {
        let (Some(offer), Some(_)) = (self.offer.get(), intake.watched()) else { return intake };
        {
            let mut loan = self.loan.lock();
            if !matches!(*loan, Loan::None) {
                // Another pipe of the same connection, of a server that was started anew.
                return intake;
            }
            *loan = Loan::Out { intake, used: true };
            // Counted until the host reads.
            let unused = self.unused.load(Ordering::Relaxed);
            self.unused.store(DOUBLINGS.min(unused + 1), Ordering::Relaxed);
        }
        offer();
        let mut loan = self.loan.lock();
        loop {
            let is_out = |loan: &mut Loan| !matches!(loan, Loan::Returned(_));
            loan = self.returned.wait_while_until(loan, Instant::now() + TERM, is_out);
            *loan = match mem::take(&mut *loan) {
                Loan::Out { intake, used: false } | Loan::Returned(intake) => return intake,
                Loan::Out { intake, used: true } => Loan::Out { intake, used: false },
                other => other,
            };
        }
    }

    /// What the host is to watch, if there is a loan: a descriptor of its own. If there are none left, the loan is over.
    pub fn watched(&self) -> Option<File> {
        let mut reading = self.borrow().ok()?;
        let watched = reading.intake.as_ref()?.watched()?.try_clone();
        reading.is_over = watched.is_err();
        watched.ok()
    }

    /// Waits awake for what comes next, shortly, if that pays. Whether something is there for the host to read.
    pub fn linger(&self) -> bool {
        self.borrow().is_ok_and(|reading| reading.intake.as_ref().is_some_and(Intake::linger))
    }

    /// The host reads what is there, once. `false`: it does not have the loan any more.
    pub fn pump(&self) -> bool {
        match self.borrow() {
            Ok(mut reading) => {
                self.unused.store(0, Ordering::Relaxed);
                // Should the reading panic, the thread goes on with it.
                reading.is_over = true;
                reading.is_over = !reading.has_little();
                !reading.is_over
            }
            Err(is_lent) => is_lent,
        }
    }

    /// The intake, if the host has the loan and does not read already; else whether it has the loan.
    fn borrow(&self) -> Result<Reading<'_>, bool> {
        let mut loan = self.loan.lock();
        match mem::replace(&mut *loan, Loan::InUse) {
            Loan::Out { intake, .. } => Ok(Reading { lender: self, intake: Some(intake), is_over: false }),
            other => {
                let is_lent = matches!(other, Loan::InUse);
                *loan = other;
                Err(is_lent)
            }
        }
    }
}

/// The host reads. However that ends, the intake is back afterwards.
struct Reading<'a> {
    lender: &'a Lender,
    intake: Option<Intake>,
    is_over: bool,
}

impl Reading<'_> {
    fn has_little(&mut self) -> bool {
        let Some(intake) = &mut self.intake else { return false };
        !intake.is_ready() || matches!(intake.step(), Got::Turn | Got::Lines(..=FEW))
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let Some(intake) = self.intake.take() else { return };
        *self.lender.loan.lock() = if self.is_over { Loan::Returned(intake) } else { Loan::Out { intake, used: true } };
        if self.is_over {
            self.lender.returned.notify_one();
        }
    }
}
