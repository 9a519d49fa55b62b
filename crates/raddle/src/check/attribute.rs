//! Mistakes in the use of `#[raddle::test]` do not compile.
//!
//! ```compile_fail
//! #[raddle::test]
//! fn takes(number: u32) {}
//! ```
//!
//! ```compile_fail
//! #[raddle::test]
//! fn takes<T>() {}
//! ```
//!
//! ```compile_fail
//! #[raddle::test(rums = 500)]
//! fn counts() {}
//! ```
//!
//! ```compile_fail
//! #[raddle::test(runs = 500, runs = 500)]
//! fn counts() {}
//! ```
//!
//! ```compile_fail
//! #[raddle::test]
//! #[test]
//! fn counts() {}
//! ```
//!
//! ```compile_fail
//! #[raddle::test]
//! struct Counts;
//! ```
//!
//! What is right does, so that the above fail for their mistakes:
//!
//! ```
//! #[raddle::test(runs = 500)]
//! fn counts() {}
//! ```
//!
//! ```
//! #[raddle::test]
//! async fn waits() {}
//! ```
