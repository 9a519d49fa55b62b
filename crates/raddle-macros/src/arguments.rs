//! The arguments of the attribute: `name = expression`, with commas between them.

use crate::UserError;
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// The names of the arguments.
const NAMES: &[&str] =
    &["strategy", "runs", "seed", "jobs", "step_limit", "patience", "fail_on_leaked_threads"];

/// Returns the builder calls on `raddle::Config`: `.with_runs(500).with_seed(3)`.
pub(crate) fn settings(arguments: TokenStream) -> Result<TokenStream, UserError> {
    let mut tokens = arguments.into_iter().peekable();
    let mut calls = TokenStream::new();
    let mut seen: Vec<String> = Vec::new();
    while let Some(first) = tokens.next() {
        let name = match &first {
            TokenTree::Ident(name) if NAMES.contains(&&name.to_string()[..]) => name.to_string(),
            other => {
                let message = format!("unknown argument `{other}`; expected one of: {}", NAMES.join(", "));
                return UserError::new(message, other.span());
            }
        };
        if seen.contains(&name) {
            return UserError::new(format!("`{name}` is set twice"), first.span());
        }
        match tokens.next() {
            Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {}
            _ => return UserError::new(format!("expected `{name} = value`"), first.span()),
        }
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',');
        let mut value = Vec::new();
        while let Some(token) = tokens.next_if(|token| !is_comma(token)) {
            value.push(token);
        }
        tokens.next();
        if value.is_empty() {
            return UserError::new(format!("expected `{name} = value`"), first.span());
        }
        let span = value[0].span();
        calls.extend(call(&name, first.span(), value.into_iter().collect(), span));
        seen.push(name);
    }
    Ok(calls)
}

/// Returns `.with_NAME(value)`. A value of the wrong type is an error that points to the value.
fn call(name: &str, span: Span, value: TokenStream, value_span: Span) -> [TokenTree; 3] {
    let mut value = Group::new(Delimiter::Parenthesis, value);
    value.set_span(value_span);
    [
        TokenTree::Punct(proc_macro::Punct::new('.', proc_macro::Spacing::Alone)),
        TokenTree::Ident(Ident::new(&format!("with_{name}"), span)),
        TokenTree::Group(value),
    ]
}
