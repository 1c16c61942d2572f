//! Checks what a server offers: names, texts and schemas that hosts refuse, cut or misread, and
//! what people don't see.

mod collector;
mod hosts;
mod lists;
mod names;
mod offers;
mod report;
mod rules;
mod schemas;
mod seen;
#[cfg(test)]
mod tests;
mod texts;

pub(crate) use offers::{Offered, Offers};
pub(crate) use report::{List, Report};

use collector::{Collector, Place};

/// Checks a server by all rules.
pub(crate) fn check(offers: &Offers) -> Report {
    let mut found = Collector::default();
    let mut schemas = schemas::Compiled::default();
    for offered in &offers.lists {
        lists::check(&mut found, offered);
        for (index, item) in offered.items.iter().enumerate() {
            let place = Place::of(offered.list, index, item);
            texts::check(&mut found, &place, item);
            if offered.list == List::Tools {
                names::check(&mut found, &place, &offers.server, item);
                schemas::check(&mut found, &place, item, offers.is_modern, &mut schemas);
            }
        }
    }
    lists::check_server(&mut found, offers);
    texts::check_instructions(&mut found, &offers.instructions);
    let seen = hosts::all().iter().map(|host| seen::by(host, offers, &found)).collect();
    found.report(seen)
}
