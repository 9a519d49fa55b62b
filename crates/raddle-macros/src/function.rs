//! The function under the attribute.

use crate::UserError;
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// The parts of a function.
pub(crate) struct Function {
    attributes: TokenStream,
    /// The tokens before `fn`.
    visibility: TokenStream,
    /// True for an `async` function.
    is_async: bool,
    name: Ident,
    /// `-> Type`, or empty.
    output: TokenStream,
    body: Group,
}

impl Function {
    pub(crate) fn parse(item: TokenStream) -> Result<Function, UserError> {
        let mut tokens = item.into_iter().peekable();
        let (mut attributes, mut visibility) = (TokenStream::new(), TokenStream::new());
        let mut is_async = false;
        while let Some(hash) = tokens.next_if(|token| is(token, '#')) {
            let Some(attribute) = tokens.next() else { break };
            if let TokenTree::Group(group) = &attribute
                && group.stream().to_string() == "test"
            {
                return UserError::new("remove `#[test]`: `#[raddle::test]` adds it", attribute.span());
            }
            attributes.extend([hash, attribute]);
        }
        loop {
            let Some(token) = tokens.next() else { return no_function(Span::call_site()) };
            let TokenTree::Ident(word) = &token else {
                // The parentheses of `pub(crate)`.
                visibility.extend([token]);
                continue;
            };
            match &word.to_string()[..] {
                "fn" => break,
                "pub" | "crate" => visibility.extend([token]),
                "async" => is_async = true,
                "const" | "unsafe" | "extern" => {
                    return UserError::new(format!("a test cannot be `{word}`"), word.span());
                }
                _ => return no_function(word.span()),
            }
        }
        let Some(TokenTree::Ident(name)) = tokens.next() else { return no_function(Span::call_site()) };
        match tokens.next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                if !group.stream().is_empty() {
                    return UserError::new("a test function cannot have parameters", group.span());
                }
            }
            _ => return UserError::new("a test function cannot be generic", name.span()),
        }
        let mut rest: Vec<TokenTree> = tokens.collect();
        match rest.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                let output = rest.into_iter().collect();
                Ok(Function { attributes, visibility, is_async, name, output, body })
            }
            _ => UserError::new("a test function must have a body", name.span()),
        }
    }

    /// Returns the test: the original function nested in one of the same name that checks it.
    pub(crate) fn into_test(self, settings: TokenStream) -> TokenStream {
        let Function { attributes, visibility, is_async, name, output, body } = self;
        let value =
            if is_async { format!("::raddle::future::block_on({name}())") } else { format!("{name}()") };
        let test = if output.is_empty() {
            format!("|| {value}")
        } else {
            format!(
                "|| {{ use ::raddle::returned::{{ByResult as _, ByTermination as _}}; (&mut ::raddle::returned::Returned::new({value})).judge() }}"
            )
        };
        let mut inside = tokens(&format!("{}fn {name}()", if is_async { "async " } else { "" }));
        inside.extend(output);
        inside.extend([TokenTree::Group(body)]);
        inside.extend(tokens("::raddle::check_named"));
        let path = format!("::core::concat!(::core::module_path!(), \"::\", ::core::stringify!({name}))");
        let mut arguments = tokens(&format!("{path}, &::raddle::Config::new()"));
        arguments.extend(settings);
        arguments.extend(tokens(&format!(", {test}")));
        inside.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);

        let mut outside = attributes;
        outside.extend(tokens("#[::core::prelude::v1::test]"));
        outside.extend(visibility);
        outside.extend(tokens("fn"));
        outside.extend([TokenTree::Ident(name)]);
        outside.extend(tokens("()"));
        outside.extend([TokenTree::Group(Group::new(Delimiter::Brace, inside))]);
        outside
    }
}

fn no_function<T>(span: Span) -> Result<T, UserError> {
    UserError::new("`#[raddle::test]` can only be applied to a function", span)
}

fn is(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("the expansion is valid Rust")
}
