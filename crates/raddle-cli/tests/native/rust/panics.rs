//! A thread panics, and what it prints is written down by others.

fn main() {
    let thread = std::thread::spawn(|| panic!("on purpose"));
    assert!(thread.join().is_err());
    std::process::exit(3);
}
