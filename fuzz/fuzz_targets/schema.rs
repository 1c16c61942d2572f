#![no_main]

// Each target uses one of them.
#[allow(dead_code)]
#[path = "../entry_points/mod.rs"]
mod entry_points;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entry_points::schema::judge(data));
