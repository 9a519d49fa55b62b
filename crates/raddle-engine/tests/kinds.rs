//! No code outside the table lists kinds without naming all of them.
//!
//! The compiler finds a match that lacks a kind, unless it has a catch-all arm. This test parses the sources
//! of all crates and rejects such arms, `matches!` with several kinds, and comparisons by order. Test modules
//! are skipped.

use proc_macro2::{Span, TokenStream, TokenTree};
use raddle_testkit::sources;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprMatch, ExprPath, ItemMod, Macro, Pat, PatIdent};

/// Finds code that lists kinds without naming all of them.
#[derive(Default)]
struct Finder {
    found: Vec<(usize, &'static str)>,
}

impl Finder {
    fn note(&mut self, span: Span, what: &'static str) {
        self.found.push((span.start().line, what));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let names_kinds = expression.arms.iter().any(|arm| names_kind(&arm.pat));
        for arm in expression.arms.iter().filter(|arm| names_kinds && is_catch_all(&arm.pat)) {
            self.note(arm.span(), "a match over kinds has a catch-all arm");
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        let by_order = matches!(expression.op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_));
        let is_kind = |side: &Expr| matches!(side, Expr::Path(ExprPath { path, .. }) if is_kind(path));
        if by_order && (is_kind(&expression.left) || is_kind(&expression.right)) {
            self.note(expression.span(), "kinds are compared by their order");
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if call.path.is_ident("matches") && kinds_in(call.tokens.clone()) > 1 {
            self.note(call.span(), "matches! lists several kinds");
        }
        visit::visit_macro(self, call);
    }
}

/// Returns true for `Kind::Lock`, and for any other path that ends in `Kind::` and a variant.
fn is_kind(path: &syn::Path) -> bool {
    path.segments.len() >= 2 && path.segments[path.segments.len() - 2].ident == "Kind"
}

fn names_kind(pattern: &Pat) -> bool {
    match pattern {
        Pat::Path(path) => is_kind(&path.path),
        Pat::Or(any) => any.cases.iter().any(names_kind),
        Pat::Tuple(tuple) => tuple.elems.iter().any(names_kind),
        Pat::Paren(inner) => names_kind(&inner.pat),
        _ => false,
    }
}

/// Returns true for `_` and for a name, with or without a guard, and for tuples that may hide a kind behind one of them.
fn is_catch_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(PatIdent { subpat: None, .. }) => true,
        Pat::Or(any) => any.cases.iter().any(is_catch_all),
        Pat::Tuple(tuple) => !tuple.elems.iter().any(names_kind),
        Pat::Paren(inner) => is_catch_all(&inner.pat),
        _ => false,
    }
}

/// Counts the paths `Kind::..` among tokens.
fn kinds_in(tokens: TokenStream) -> usize {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let inner = tokens.iter().map(|token| match token {
        TokenTree::Group(group) => kinds_in(group.stream()),
        _ => 0,
    });
    let paths = tokens.windows(2).filter(|pair| {
        matches!(pair, [TokenTree::Ident(name), TokenTree::Punct(colon)] if name == "Kind" && colon.as_char() == ':')
    });
    inner.sum::<usize>() + paths.count()
}

fn find(source: &str) -> Vec<(usize, &'static str)> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(source).expect("the source is Rust"));
    finder.found
}

#[test]
#[cfg_attr(miri, ignore = "it reads files")]
fn every_list_of_kinds_is_complete() {
    let files = sources();
    assert!(files.iter().any(|(file, _)| file == "raddle-engine/src/semantics/mod.rs"), "nothing was read");
    let mut wrong = Vec::new();
    for (file, source) in files {
        // The lexer and the compiler commands have other types of this name.
        let other = source.contains("enum Kind") && file != "raddle-model/src/kind/mod.rs";
        if source.contains("Kind::") && !other {
            wrong.extend(find(&source).into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "read a property of `Kind::info`, or list every kind:\n{}", wrong.join("\n"));
}

#[test]
fn each_way_to_omit_a_kind_is_found() {
    for (code, count) in [
        ("match k { Kind::Lock => 1, _ => 2 }", 1),
        ("match k { Kind::Lock => 1, other => 2 }", 1),
        ("match (k, r) { (Kind::Lock, 1) => 1, (_, 2) => 2, _ => 3 }", 2),
        ("match k { raddle_model::Kind::Lock => 1, Kind::Unlock | _ => 2 }", 1),
        ("matches!(k, Kind::Lock | Kind::Unlock)", 1),
        ("k <= Kind::ReadModifyWrite", 1),
        ("match k { Kind::Lock | Kind::Unlock => 1, Kind::Read if x => 2, Kind::Read => 3 }", 0),
        ("matches!(k, Kind::Lock) && k == Kind::Read", 0),
        ("match k { ErrorKind::NotFound => 1, _ => 2 }", 0),
        ("match k.info().memory { Memory::Read => 1, _ => 2 }", 0),
    ] {
        assert_eq!(find(&format!("fn f() {{ {code}; }}")).len(), count, "{code}");
    }
}
