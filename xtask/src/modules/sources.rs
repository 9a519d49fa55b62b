//! Reads the modules of a crate: the names that each defines and imports, and the paths in its code.

use anyhow::{Context, Result, ensure};
use proc_macro2::{Spacing, Span, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// The index of a module in the list of all modules; the crate's root is the first.
pub(crate) type Id = usize;

/// A module of the crate under check.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its path from the root, which has the name `crate`.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) parent: Option<Id>,
    pub(crate) children: BTreeMap<String, Id>,
    /// The names of the items in it, without its child modules.
    pub(crate) defined: BTreeSet<String>,
    /// The local name of each import and its path.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    /// The paths of its glob imports.
    pub(crate) globs: Vec<Vec<String>>,
    pub(crate) uses: Vec<Use>,
}

/// A path in the code of a module.
#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// True if it occurs in the tokens of a macro, which may put it elsewhere.
    pub(crate) in_macro: bool,
}

/// Reads a crate from its root file. `source` returns the text of a file, or nothing if there is no such file.
pub(crate) fn read(root: &Path, source: &dyn Fn(&Path) -> Option<String>) -> Result<Vec<Module>> {
    let folder = root.parent().context("the root file is in no folder")?.to_path_buf();
    let mut reader = Reader { source, modules: Vec::new() };
    let text = source(root).with_context(|| format!("cannot read {}", root.display()))?;
    reader.file("crate", root, &folder, None, &text)?;
    Ok(reader.modules)
}

struct Reader<'a> {
    source: &'a dyn Fn(&Path) -> Option<String>,
    modules: Vec<Module>,
}

impl Reader<'_> {
    /// Reads a module that is a file, with its descendants. `folder` holds the files of its children.
    fn file(&mut self, name: &str, file: &Path, folder: &Path, parent: Option<Id>, text: &str) -> Result<Id> {
        let parsed = syn::parse_file(text).map_err(|error| {
            anyhow::anyhow!("cannot parse {}:{}: {error}", file.display(), error.span().start().line)
        })?;
        self.module(name, file, folder, parent, &parsed.items)
    }

    fn module(
        &mut self,
        name: &str,
        file: &Path,
        folder: &Path,
        parent: Option<Id>,
        items: &[Item],
    ) -> Result<Id> {
        let id = self.modules.len();
        self.modules.push(Module {
            name: name.to_owned(),
            file: file.to_path_buf(),
            parent,
            children: BTreeMap::new(),
            defined: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
            uses: Vec::new(),
        });
        let mut children = Vec::new();
        let mut collector = Collector { module: &mut self.modules[id], children: &mut children };
        items.iter().for_each(|item| collector.visit_item(item));
        for child in children {
            let (ident, path) = (child.ident.to_string(), format!("{name}::{}", child.ident));
            let below = folder.join(&ident);
            let read = if let Some((_, items)) = &child.content {
                self.module(&path, file, &below, Some(id), items)?
            } else {
                let options = match path_attribute(&child.attrs) {
                    Some(named) => vec![file.with_file_name(named)],
                    None => vec![folder.join(format!("{ident}.rs")), below.join("mod.rs")],
                };
                let found = options.iter().find_map(|option| Some((option, (self.source)(option)?)));
                ensure!(found.is_some(), "{} declares `mod {ident}`, which has no file", file.display());
                let Some((option, text)) = found else { continue };
                self.file(&path, option, &below, Some(id), &text)?
            };
            self.modules[id].children.insert(ident, read);
        }
        Ok(id)
    }
}

/// Returns the file named by `#[path = ".."]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let pair = attribute.meta.require_name_value().ok().filter(|pair| pair.path.is_ident("path"))?;
        match &pair.value {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        }
    })
}

/// Returns true if the attributes compile an item for tests only.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Ok(list) = attribute.meta.require_list() else { return attribute.path().is_ident("test") };
        // In `not(test)` the word is one group deeper.
        list.path.is_ident("cfg")
            && (list.tokens.to_string() == "test" || list.tokens.to_string().starts_with("all (test"))
    })
}

/// Collects the names and paths of one module, and its child modules, which it does not enter.
struct Collector<'a, 'ast> {
    module: &'a mut Module,
    children: &'a mut Vec<&'ast syn::ItemMod>,
}

impl Collector<'_, '_> {
    fn add(&mut self, path: Vec<String>, span: Span, in_macro: bool) {
        self.module.uses.push(Use { path, line: span.start().line, in_macro });
    }

    /// Adds the imports of one `use` item.
    fn import(&mut self, tree: &UseTree, mut path: Vec<String>, reexported: bool) {
        let (local, last) = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.import(&inner.tree, path, reexported);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, path.clone(), reexported));
                return;
            }
            UseTree::Glob(glob) => {
                if !reexported {
                    self.add(path.clone(), glob.star_token.spans[0], false);
                }
                return self.module.globs.push(path);
            }
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(rename) => (&rename.rename, &rename.ident),
        };
        let local = if last == "self" { path.last().cloned() } else { Some(local.to_string()) };
        if last != "self" {
            path.push(last.to_string());
        }
        if !reexported {
            self.add(path.clone(), last.span(), false);
        }
        // The import of a child by its own name, as in `use child;`, adds nothing.
        self.module.imports.extend(local.filter(|local| path != [local.clone()]).map(|local| (local, path)));
    }

    /// Adds the paths in the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut span, mut joined) = (Vec::<String>::new(), Span::call_site(), false);
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if !joined {
                        self.add_tokens(std::mem::take(&mut path), span);
                        span = ident.span();
                    }
                    path.push(ident.to_string());
                    (joined, colons) = (false, 0);
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    joined = colons == 2;
                    if punct.spacing() == Spacing::Joint || joined {
                        continue;
                    }
                }
                TokenTree::Group(group) => {
                    // `a::{b, c}`: the names after `a` are ignored.
                    self.tokens(group.stream());
                }
                _ => {}
            }
            self.add_tokens(std::mem::take(&mut path), span);
            (joined, colons) = (false, 0);
        }
        self.add_tokens(path, span);
    }

    fn add_tokens(&mut self, path: Vec<String>, span: Span) {
        if !path.is_empty() {
            self.add(path, span, true);
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_, 'ast> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::ExternCrate(item) => (&item.attrs, None),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::ForeignMod(item) => (&item.attrs, None),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return,
        };
        if for_tests(attributes) {
            return;
        }
        self.module.defined.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.children.push(item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, Vec::new(), !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none()
            && let Some(first) = path.segments.first()
        {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(names, first.ident.span(), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.visit_path(&invoked.path);
        self.tokens(invoked.tokens.clone());
    }
}
