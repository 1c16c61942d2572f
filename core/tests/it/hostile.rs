//! Hostile input at every entry point of untrusted bytes: ten thousand inputs each, the same in
//! every run. Nothing panics, nothing hangs, and the errors are correct. The fuzz targets (`fuzz/`)
//! check the same rules.

#[path = "../../../fuzz/entry_points/mod.rs"]
mod entry_points;

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use std::fmt;

const CASES: u32 = 10_000;
const MAX_CHANGES: usize = 6;
/// Texts with a meaning for some reader.
const WORDS: [&[u8]; 31] = [
    // A number beyond those of every type.
    &[b'9'; 400],
    b"\0",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b" ",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"[",
    b"[[[[[[[[[[[[[[[[",
    b"}",
    b"]",
    b",",
    b":",
    b".",
    b"..",
    b"/../",
    b"%00",
    b"%2e%2e",
    b"null",
    b"1e999",
    b"-1",
    b"18446744073709551616",
    b"\xff\xfe",
    b"\xf0\x9f",
    b"=",
    b"http://127.0.0.1/",
    b"file:///",
    b"none",
];

#[derive(Debug, Clone)]
enum Change {
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    /// A part once more, many times.
    Repeat(Index, usize, usize),
    Cut(Index),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let at = any::<Index>;
        prop_oneof![
            (at(), any::<u8>()).prop_map(|(at, byte)| Self::Put(at, byte)),
            (at(), select(&WORDS[..])).prop_map(|(at, word)| Self::Insert(at, word.to_vec())),
            (at(), vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Self::Insert(at, bytes)),
            (at(), 1..40_usize).prop_map(|(at, length)| Self::Remove(at, length)),
            (at(), 1..20_usize, 2..40_usize).prop_map(|(at, length, times)| Self::Repeat(at, length, times)),
            at().prop_map(Self::Cut),
        ]
    }

    fn apply(&self, data: &mut Vec<u8>) {
        let place = |index: &Index| index.index(data.len() + 1);
        match self {
            Self::Put(index, byte) => {
                let at = place(index);
                if let Some(found) = data.get_mut(at) {
                    *found = *byte;
                }
            }
            Self::Insert(index, bytes) => {
                let at = place(index);
                data.splice(at..at, bytes.iter().copied());
            }
            Self::Remove(index, length) => {
                let at = place(index);
                data.drain(at..data.len().min(at + length));
            }
            Self::Repeat(index, length, times) => {
                let at = place(index);
                let part = data[at..data.len().min(at + length)].repeat(*times);
                data.splice(at..at, part);
            }
            Self::Cut(index) => data.truncate(place(index)),
        }
    }
}

struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

fn changed(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    (select(seeds), vec(Change::any(), 0..=MAX_CHANGES)).prop_map(|(mut data, changes)| {
        changes.iter().for_each(|change| change.apply(&mut data));
        Input(data)
    })
}

fn try_all(seeds: Vec<Vec<u8>>, judge: impl Fn(&[u8])) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::XorShift));
    let outcome = runner.run(&changed(seeds), |input| {
        judge(&input.0);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

macro_rules! entry_points {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                try_all(entry_points::$name::seeds(), entry_points::$name::judge);
            }
        )*
    };
}

entry_points! {
    cursor dpop_proof envelope event_stream header_value http_body http_head jwt oauth_metadata request_state schema
    session_id uri_template
}
