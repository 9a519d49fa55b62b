//! Lets the code of the library lie in blocks of memory of its own, each as large as a huge page; see `src/text.rs`.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,max-page-size=0x200000");
    println!("cargo::rerun-if-changed=build.rs");
}
