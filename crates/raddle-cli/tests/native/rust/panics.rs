//! A thread panics, and others record its output.

fn main() {
    let thread = std::thread::spawn(|| panic!("on purpose"));
    assert!(thread.join().is_err());
    std::process::exit(3);
}
