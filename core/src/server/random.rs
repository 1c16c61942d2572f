//! Names that nobody can guess.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// 128 random bits as text.
pub(super) fn unguessable() -> String {
    let mut bytes = [0; 16];
    // Without randomness there is no TLS either, and a name that can be guessed would be worse than no answer.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}
