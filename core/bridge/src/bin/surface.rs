//! Prints the surface as JSON, for `cargo xtask generate`.

fn main() {
    println!("{:#}", trunkline_bridge::surface::surface());
}
