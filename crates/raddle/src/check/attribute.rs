//! Incorrect uses of `#[raddle::test]` do not compile.
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
//! Correct uses compile, so the examples above fail for the intended reason:
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
