//! The library stays loaded until the process ends, because its threads go on: Ruby calls `dlclose`
//! before that. Other systems never unload it.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let unix = env::var("CARGO_CFG_UNIX").is_ok();
    let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    if unix && !apple {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
