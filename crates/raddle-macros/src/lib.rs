//! `#[raddle::test]`: turns a function into a plain `#[test]` that checks it.
//!
//! It works on tokens, without a Rust parser: it only needs to find the function's name, parameters and body.

mod arguments;
mod function;

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Turns a function into a test that runs under many schedules.
///
/// ```ignore
/// #[raddle::test]
/// fn counts() { .. }
///
/// #[raddle::test(runs = 500, strategy = "pct:depth=2", seed = 3)]
/// #[should_panic(expected = "deadlock")]
/// fn takes_locks_in_two_orders() { .. }
/// ```
///
/// The function becomes a plain `#[test]`, so that harnesses and editors see it; other attributes
/// (`#[should_panic]`, `#[ignore]`, `#[cfg(..)]`) keep their meaning. The arguments are fields of
/// `raddle::Config`: `strategy`, `runs`, `seed`, `jobs`, `step_limit`, `patience` and
/// `fail_on_leaked_threads`, each with an expression. A function may return whatever a
/// `#[test]` may, and fails when it returns `Err` or an `ExitCode` other than success. The future of an `async` function is polled by `raddle::future::block_on`.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = function::Function::parse(item.clone())
        .and_then(|function| Ok(function.into_test(arguments::settings(arguments)?)));
    expanded.unwrap_or_else(|UserError { message, span }| {
        // Keep the function, so that the compiler also reports its own errors and the editor still knows it.
        let mut tokens = compile_error(&message, span);
        tokens.extend(item);
        tokens
    })
}

/// A user error, with its location.
struct UserError {
    message: String,
    span: Span,
}

impl UserError {
    fn new<T>(message: impl Into<String>, span: Span) -> Result<T, UserError> {
        Err(UserError { message: message.into(), span })
    }
}

/// Returns `::core::compile_error! { "message" }`, located at `span`.
fn compile_error(message: &str, span: Span) -> TokenStream {
    let mut text = Literal::string(message);
    text.set_span(span);
    let mut tokens = Vec::new();
    for name in ["core", "compile_error"] {
        tokens.push(TokenTree::Punct(Punct::new(':', Spacing::Joint)));
        tokens.push(TokenTree::Punct(Punct::new(':', Spacing::Alone)));
        tokens.push(TokenTree::Ident(Ident::new(name, span)));
    }
    tokens.push(TokenTree::Punct(Punct::new('!', Spacing::Alone)));
    tokens.push(TokenTree::Group(Group::new(Delimiter::Brace, TokenTree::Literal(text).into())));
    for token in &mut tokens {
        token.set_span(span);
    }
    tokens.into_iter().collect()
}
