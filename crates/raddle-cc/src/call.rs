//! The arguments of a compiler call that matter for the hooks.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Options whose value is the next argument, which is therefore not an input file.
const TAKE_A_VALUE: &[&str] = &[
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-B",
    "-F",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-include-pch",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-aux-info",
    "-wrapper",
    "-dumpbase",
    "-dumpdir",
    "--param",
    "--sysroot",
    "-target",
    "-arch",
    "-framework",
    "-rpath",
    "-G",
    "--entry",
    "--output",
];
/// Options that stop before linking.
const STOP_BEFORE_LINKING: &[&str] =
    &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--compile", "--assemble", "--preprocess"];
/// The file extensions of C and C++.
const SOURCES: &[&str] =
    &["c", "i", "ii", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "h", "hh", "hpp", "hxx", "H", "tcc"];
/// Sanitizers that need the memory, or the hooks, for themselves.
const FOREIGN_SANITIZERS: &[&str] =
    &["address", "hwaddress", "kernel-address", "kernel-hwaddress", "leak", "memory"];
/// The maximum nesting depth of response files.
const DEPTH: usize = 8;

/// A call of the compiler.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Call {
    /// True if a C or C++ file is compiled, or at least preprocessed.
    pub(crate) compiles: bool,
    /// True if a program or shared library is linked.
    pub(crate) links: bool,
    /// True for a static program.
    pub(crate) is_static: bool,
    /// True if the optimization level hides accesses from the hooks.
    pub(crate) optimizes_much: bool,
    /// True if link-time optimization is requested.
    pub(crate) uses_lto: bool,
    /// An argument that is incompatible with hooks.
    pub(crate) refused: Option<OsString>,
}

impl Call {
    /// Reads the arguments. The compiler reports unreadable response files.
    pub(crate) fn read(args: impl Iterator<Item = OsString>) -> Call {
        let mut words = Vec::new();
        expand(args, DEPTH, &mut words);
        let mut call = Call::default();
        let (mut inputs, mut stops, mut language) = (false, false, false);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(text) = word.to_str() else {
                inputs |= !word.as_bytes().starts_with(b"-");
                call.compiles |= language || is_source(&word);
                continue;
            };
            match text {
                "-x" | "--language" => language = words.next().is_some_and(|name| is_compiled(name.to_str())),
                "-r" | "-Wl,-r" | "--help" | "--version" | "-dumpversion" | "-dumpmachine" => stops = true,
                "-static" | "--static" | "-static-pie" => call.is_static = true,
                "-m32" | "-mx32" | "-m16" => call.refused = Some(word),
                "-fno-lto" => call.uses_lto = false,
                _ if STOP_BEFORE_LINKING.contains(&text) => stops = true,
                _ if TAKE_A_VALUE.contains(&text) => drop(words.next()),
                _ if text == "-" || !text.starts_with('-') => {
                    inputs = true;
                    call.compiles |= language || is_source(&word);
                }
                _ => {
                    if let Some(name) = text.strip_prefix("-x") {
                        language = is_compiled(Some(name));
                    } else if let Some(level) = text.strip_prefix("-O") {
                        call.optimizes_much = !matches!(level, "" | "0" | "1" | "g");
                    } else if let Some(list) = text.strip_prefix("-fsanitize=") {
                        let foreign = list.split(',').any(|name| FOREIGN_SANITIZERS.contains(&name));
                        call.refused = if foreign { Some(word) } else { call.refused };
                    } else if text == "-flto" || text.starts_with("-flto=") {
                        call.uses_lto = true;
                    }
                }
            }
        }
        call.links = inputs && !stops;
        call
    }
}

/// Returns the argument without the sanitizer that is enabled in another way; `None` if nothing is left of
/// it.
pub(crate) fn without_thread_sanitizer(word: &OsString) -> Option<OsString> {
    let Some(list) = word.to_str().and_then(|text| text.strip_prefix("-fsanitize=")) else {
        return Some(word.clone());
    };
    let rest: Vec<_> = list.split(',').filter(|&name| name != "thread").collect();
    (!rest.is_empty()).then(|| format!("-fsanitize={}", rest.join(",")).into())
}

fn is_source(word: &OsStr) -> bool {
    let name = word.as_bytes();
    let end = name.rsplit(|&byte| byte == b'.').next().filter(|end| end.len() < name.len());
    end.is_some_and(|end| SOURCES.iter().any(|source| source.as_bytes() == end))
}

/// Returns true if `-x` with this language makes files of any name C or C++.
fn is_compiled(language: Option<&str>) -> bool {
    language.is_some_and(|name| name.starts_with('c') || name.starts_with("objective-c"))
}

fn expand(args: impl Iterator<Item = OsString>, depth: usize, words: &mut Vec<OsString>) {
    for word in args {
        let inside = word.as_bytes().strip_prefix(b"@").filter(|_| depth > 0);
        match inside.and_then(|path| std::fs::read(OsStr::from_bytes(path)).ok()) {
            Some(text) => expand(split(&text).into_iter(), depth - 1, words),
            None => words.push(word),
        }
    }
}

/// Splits a response file into words: separated by white space, with quotes and backslashes as in a shell.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'"' | b'\'' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            _ if byte.is_ascii_whitespace() => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Call {
        Call::read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn compiling_and_linking_are_told_apart() {
        for (line, compiles, links) in [
            ("a.c -o a", true, true),
            ("-c a.c", true, false),
            ("-c -o a.o a.cc", true, false),
            ("-E a.c", true, false),
            ("a.o -o a -lm", false, true),
            ("-shared a.o b.a -o liba.so", false, true),
            ("-c a.S", false, false),
            ("-v", false, false),
            ("--version", false, false),
            ("-o a.c", false, false),
            ("-MF a.c -I b.c", false, false),
            ("-x c -", true, true),
            ("-xc++ -c -", true, false),
            ("-x assembler a", false, true),
            ("-x c -x none a.o", false, true),
            ("-", false, true),
            ("-r a.o b.o -o c.o", false, false),
            ("@no/such/file", false, true),
        ] {
            let call = read(line);
            assert_eq!((call.compiles, call.links), (compiles, links), "{line}");
        }
    }

    #[test]
    fn the_last_level_counts() {
        for (line, much) in
            [("-O2", true), ("-O", false), ("-O2 -O0", false), ("-Og -Os", true), ("-Ofast", true)]
        {
            assert_eq!(read(line).optimizes_much, much, "{line}");
        }
        assert!(read("-flto=auto").uses_lto && !read("-flto -fno-lto").uses_lto && !read("-fltox").uses_lto);
        assert!(read("-static a.o").is_static && !read("-static-libgcc a.o").is_static);
    }

    #[test]
    fn foreign_sanitizers_are_refused() {
        assert_eq!(read("-fsanitize=undefined,address").refused, Some("-fsanitize=undefined,address".into()));
        assert_eq!(read("-fsanitize=undefined,thread").refused, None);
        assert_eq!(read("-m32 a.c").refused, Some("-m32".into()));
        let without = |word: &str| without_thread_sanitizer(&word.into());
        assert_eq!(without("-fsanitize=thread"), None);
        assert_eq!(without("-fsanitize=undefined,thread"), Some("-fsanitize=undefined".into()));
        assert_eq!(without("a.c"), Some("a.c".into()));
    }

    #[test]
    fn response_files_are_words_as_in_a_shell() {
        let words = split(b"-c 'a b.c'\n\"-DX=\\\"y\\\"\" c\\ d '' e");
        assert_eq!(words, ["-c", "a b.c", "-DX=\"y\"", "c d", "", "e"]);
    }
}
