//! Signatures of failure files, which distinguish the files of this user's Raddle from those of others.
//!
//! A failure file names a program, and a replay starts it. Only a holder of the user's key can sign what is
//! started, so a signed file starts nothing that the user has not started before: the same program with the
//! same arguments in the same environment. The schedule is not signed. It determines the order in which the
//! threads of that program run, as a search does.

use hmac::{Hmac, KeyInit, Mac};
use raddle_model::{Environment, Failure, FrontEnd, TraceFile};
use sha2::Sha256;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The environment variable that names the key file. The default is `raddle/key` in the user's data
/// directory.
const KEY_VARIABLE: &str = "RADDLE_KEY";

/// Number of bytes of a key.
const KEY_LENGTH: usize = 32;

/// Returns the path of the user's key: `RADDLE_KEY`, or `raddle/key` in `XDG_DATA_HOME` or `~/.local/share`.
pub fn key_path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder(KEY_VARIABLE).or_else(|| {
        let base = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")));
        base.map(|base| base.join("raddle/key"))
    })
}

/// Signs what a replay of `file` starts, with the user's key, which is created if there is none.
///
/// Returns `None` if no key can be stored, and for a lab program: nothing is started for it.
pub fn sign(file: &TraceFile) -> Option<String> {
    if file.front_end == FrontEnd::Lab {
        return None;
    }
    let path = key_path()?;
    let key = read_key(&path).or_else(|_| create_key(&path)).ok()?;
    let mut text = String::new();
    for byte in code(&key, file).finalize().into_bytes() {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// Returns true if the user's key signed what a replay of `file` starts.
pub fn is_signed(file: &TraceFile) -> bool {
    let signed = || -> Option<bool> {
        let key = read_key(&key_path()?).ok()?;
        let signature = from_hexadecimal(file.signature.as_ref()?)?;
        // Compares in constant time.
        Some(code(&key, file).verify_slice(&signature).is_ok())
    };
    signed().unwrap_or(false)
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    digits.chunks(2).map(|pair| Some(pair[0] << 4 | pair.get(1)?)).collect()
}

/// Returns the authentication code of everything that determines what is started. Every part is preceded by
/// its length, so no two files have the same input.
fn code(key: &[u8; KEY_LENGTH], file: &TraceFile) -> Hmac<Sha256> {
    let mut code = Hmac::<Sha256>::new_from_slice(key).expect("a key of HMAC may have any length");
    let mut part = |text: &str| {
        code.update(&(text.len() as u64).to_le_bytes());
        code.update(text.as_bytes());
    };
    let Environment { directory, environment, test, executable, name } = &file.environment;
    part("raddle failure 1");
    part(file.front_end.name());
    part(&file.program);
    part(&file.arguments.len().to_string());
    file.arguments.iter().for_each(|argument| part(argument));
    part(&environment.len().to_string());
    for (name, value) in environment {
        part(name);
        part(value);
    }
    // The runtime opens the file with the expected output.
    let expected = match file.verdict.failure() {
        Some(Failure::Output { file, .. }) => Some(file),
        _ => None,
    };
    for option in [directory.as_ref(), test.as_ref(), executable.as_ref(), expected] {
        part(if option.is_some() { "some" } else { "none" });
        part(option.map_or("", |text| text));
    }
    // Files without a name are older, or need none.
    if let Some(name) = name {
        part("name");
        part(name);
    }
    code
}

fn read_key(path: &Path) -> io::Result<[u8; KEY_LENGTH]> {
    let mut key = [0; KEY_LENGTH];
    fs::File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

/// Creates a key that no other user can read. Other processes may do the same at the same time; the first one
/// counts.
fn create_key(path: &Path) -> io::Result<[u8; KEY_LENGTH]> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut key = [0; KEY_LENGTH];
    fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
    let mut own = path.as_os_str().to_owned();
    own.push(format!(".{}.part", std::process::id()));
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&own).and_then(
        |mut file| {
            file.write_all(&key)?;
            // Unlike renaming, this replaces nothing.
            fs::hard_link(&own, path)
        },
    );
    _ = fs::remove_file(&own);
    match written {
        Ok(()) => Ok(key),
        Err(_) => read_key(path),
    }
}
