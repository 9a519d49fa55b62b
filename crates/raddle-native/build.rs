//! Lets the code of the library lie in blocks of memory of its own, each as large as a huge page; see `src/platform/huge_pages.rs`. What is written to
//! is one block: what could be made constant after the start would be another one, with page tables that every fork copies.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,max-page-size=0x200000,-z,norelro");
    println!("cargo::rerun-if-changed=build.rs");
}
