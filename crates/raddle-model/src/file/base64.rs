//! Base64 with padding (RFC 4648).

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes`.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|index| u32::from(chunk.get(index).copied().unwrap_or(0)));
        let group = a << 16 | b << 8 | c;
        for place in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Decodes `text`. The error is the index of the first invalid character.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return Err(text.len());
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for (index, chunk) in text.chunks(4).enumerate() {
        let padding = chunk.iter().rev().take_while(|&&letter| letter == b'=').count();
        let is_last = (index + 1) * 4 == text.len();
        if padding > 2 || padding > 0 && !is_last {
            return Err(index * 4);
        }
        let mut group = 0;
        for (place, &letter) in chunk[..4 - padding].iter().enumerate() {
            group = group << 6 | value(letter).ok_or(index * 4 + place)?;
        }
        group <<= 6 * padding;
        bytes.extend(group.to_be_bytes().into_iter().skip(1).take(3 - padding));
    }
    Ok(bytes)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_examples_of_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        for (wrong, at) in [("Zg=", 3), ("Zg==Zg==", 0), ("Z===", 0), ("Zm9v!m8=", 4), ("Zm\u{e9}", 2)] {
            assert_eq!(decode(wrong), Err(at), "{wrong}");
        }
    }
}
