//! The tokens of RTF: groups, control words with their numbers, bytes of text.

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `\word`, with its number.
    Word(&'a str, Option<i32>),
    /// `\` and a character that is no letter.
    Symbol(u8),
    /// `\'hh`: a byte of text.
    Byte(u8),
    /// Bytes of text as they stand.
    Text(&'a [u8]),
}

/// A control word has at most so many letters.
const WORD_BYTES_MAX: usize = 32;

/// Takes a file apart.
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next token begins.
    pub fn at(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn control(&mut self) -> Option<Token<'a>> {
        let first = self.peek()?;
        if first == b'\'' {
            let hex = self.bytes.get(self.at + 1..self.at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
            self.at += 1;
            return match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                Some(byte) => {
                    self.at += 2;
                    Some(Token::Byte(byte))
                }
                None => Some(Token::Symbol(b'\'')),
            };
        }
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            return Some(Token::Symbol(first));
        }
        let rest = &self.bytes[self.at..];
        let n_letters = rest.iter().take(WORD_BYTES_MAX).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = std::str::from_utf8(&rest[..n_letters]).unwrap_or("");
        let rest = &rest[n_letters..];
        let n_sign = usize::from(rest.first() == Some(&b'-') && rest.get(1).is_some_and(u8::is_ascii_digit));
        let n_digits = rest[n_sign..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..n_sign + n_digits]).unwrap_or("").parse().ok();
        self.at += n_letters + n_sign + n_digits;
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if word == "bin" {
            let n_bytes = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            self.at = self.at.saturating_add(n_bytes).min(self.bytes.len());
        }
        Some(Token::Word(word, number))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let first = self.peek()?;
        match first {
            b'{' => {
                self.at += 1;
                Some(Token::Open)
            }
            b'}' => {
                self.at += 1;
                Some(Token::Close)
            }
            b'\\' => {
                self.at += 1;
                self.control().or(Some(Token::Symbol(b'\\')))
            }
            _ => {
                let rest = &self.bytes[self.at..];
                let n = rest.iter().position(|byte| matches!(byte, b'{' | b'}' | b'\\')).unwrap_or(rest.len());
                self.at += n;
                Some(Token::Text(&rest[..n]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_bytes_are_told_apart() {
        let tokens: Vec<_> = Tokens::new(b"{\\b0 x\\u-10 ?\\'e9\\~\\bin3 }}}\\par\\'z").collect();
        let expected = [
            Token::Open,
            Token::Word("b", Some(0)),
            Token::Text(b"x"),
            Token::Word("u", Some(-10)),
            Token::Text(b"?"),
            Token::Byte(0xe9),
            Token::Symbol(b'~'),
            Token::Word("bin", Some(3)),
            Token::Word("par", None),
            Token::Symbol(b'\''),
            Token::Text(b"z"),
        ];
        assert_eq!(tokens, expected);
    }
}
