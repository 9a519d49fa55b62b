//! Other crates use the capabilities of a strategy, and do not compare its name.
//!
//! The test parses the sources of all other crates. It rejects the name of a strategy, alone or before its
//! parameters, in a comparison: next to `==`, in a pattern, and as an argument of `starts_with` and the like.
//! Test modules are skipped, and a name that is built, printed or set as a default is not a comparison.

use proc_macro2::{TokenStream, TokenTree};
use raddle_strategies::CATALOGUE;
use raddle_strategies::portfolio::NAME;
use raddle_testkit::sources;
use syn::visit::{self, Visit};
use syn::{BinOp, ExprBinary, ExprMethodCall, ItemMod, Lit, LitStr, Macro, Pat};

/// Finds names of strategies that are compared.
#[derive(Default)]
struct Finder {
    found: Vec<(usize, String)>,
    /// True inside a comparison.
    compared: bool,
}

impl Finder {
    fn note(&mut self, text: &LitStr) {
        if names_strategy(&text.value()) {
            self.found.push((text.span().start().line, text.value()));
        }
    }

    fn with_compared(&mut self, look: impl FnOnce(&mut Finder)) {
        let before = std::mem::replace(&mut self.compared, true);
        look(self);
        self.compared = before;
    }

    fn note_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.note(&text);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        if matches!(expression.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            self.with_compared(|finder| visit::visit_expr_binary(finder, expression));
        } else {
            visit::visit_expr_binary(self, expression);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if ["starts_with", "strip_prefix", "contains", "eq"].iter().any(|name| call.method == name) {
            self.with_compared(|finder| visit::visit_expr_method_call(finder, call));
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        self.with_compared(|finder| visit::visit_pat(finder, pattern));
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if call.path.is_ident("matches") {
            self.note_tokens(call.tokens.clone());
        }
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        if self.compared {
            self.note(text);
        }
    }
}

fn names_strategy(text: &str) -> bool {
    let (name, _) = text.split_once(':').unwrap_or((text, ""));
    name == NAME || CATALOGUE.iter().any(|entry| entry.name == name)
}

fn find(source: &str) -> Vec<(usize, String)> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(source).expect("the source is Rust"));
    finder.found
}

#[test]
#[cfg_attr(miri, ignore = "it reads files")]
fn names_are_compared_in_the_catalogue_only() {
    let files = sources();
    assert!(files.iter().any(|(file, _)| file == "raddle-search/src/lanes.rs"), "nothing was read");
    let mut wrong = Vec::new();
    for (file, source) in files.iter().filter(|(file, _)| !file.starts_with("raddle-strategies/")) {
        wrong.extend(find(source).into_iter().map(|(line, name)| format!("{file}:{line}: {name}")));
    }
    assert!(wrong.is_empty(), "ask for a capability of the entry instead:\n{}", wrong.join("\n"));
}

#[test]
fn each_way_to_compare_a_name_is_found() {
    for (code, count) in [
        (r#"spec == "pos""#, 1),
        (r#"spec.split(':').next() != Some("maple")"#, 1),
        (r#"match spec { "dfs" | "dpor" => 1, _ => 2 }"#, 2),
        (r#"matches!(&spec[..], "dfs" | "delay")"#, 2),
        (r#"spec.starts_with("dpor")"#, 1),
        (r#"["upo", "maple"].contains(&spec)"#, 2),
        (r#"spec == "pct:depth=3""#, 1),
        (r#"spec == "portfolio""#, 1),
        (r#"build("pos"); let spec = "dfs"; spec == "other""#, 0),
    ] {
        assert_eq!(find(&format!("fn f() {{ {code}; }}")).len(), count, "{code}");
    }
}
