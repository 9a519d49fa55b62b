//! Aligns the library's code and data in separate blocks of memory, each the size of a huge page; see
//! `src/platform/huge_pages.rs`. Writable data is one block: a separate read-only-after-relocation block
//! would need page tables that every fork copies.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,max-page-size=0x200000,-z,norelro");
    println!("cargo::rerun-if-changed=build.rs");
}
