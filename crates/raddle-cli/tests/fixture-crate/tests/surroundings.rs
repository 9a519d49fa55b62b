//! The environment that cargo guarantees to tests.

#[test]
fn are_those_of_cargo() {
    assert!(std::path::Path::new("src/lib.rs").exists());
    let variable = |name| std::env::var(name).unwrap();
    assert_eq!(variable("CARGO_PKG_NAME"), env!("CARGO_PKG_NAME"));
    assert_eq!(variable("CARGO_PKG_VERSION"), "1.2.3");
    assert_eq!(variable("CARGO_MANIFEST_DIR"), env!("CARGO_MANIFEST_DIR"));
}

#[test]
fn are_part_of_a_failure() {
    let here = std::path::Path::new("src/lib.rs").exists();
    panic!("{:?} {here}", std::env::var("CARGO_PKG_NAME"));
}

extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

#[test]
fn priority_inheritance_is_not_controlled() {
    const FUTEX: i64 = 202;
    const LOCK_PI: i32 = 6;
    let word = std::sync::atomic::AtomicU32::new(0);
    // SAFETY: the word outlives the call.
    unsafe { syscall(FUTEX, word.as_ptr(), LOCK_PI, 0, std::ptr::null::<u8>()) };
}
