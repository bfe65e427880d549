//! Blanks what is not code in Rust source: comments, the insides of strings, test modules.
//!
//! Every function keeps the lines as they are, so that a finding can name its line.

/// `text` with comments and the insides of string and character literals blanked.
pub fn code(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped_until(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts.
fn skipped_until(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    let after_name = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next == Some('/') => line_end(chars, at),
        '/' if next == Some('*') => block_comment_end(chars, at),
        '"' => string_end(chars, at + 1),
        'r' if !after_name || chars[at - 1] == 'b' => raw_string_end(chars, at).unwrap_or(at),
        '\'' => char_end(chars, at).unwrap_or(at),
        _ => at,
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n)
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn raw_string_end(chars: &[char], start: usize) -> Option<usize> {
    let n_hashes = chars[start + 1..].iter().take_while(|&&c| c == '#').count();
    let open = start + 1 + n_hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |at: usize| {
        let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
        chars[at] == '"' && hashes >= n_hashes
    };
    let close = (open + 1..chars.len()).find(|&at| closes(at));
    Some(close.map_or(chars.len(), |at| at + 1 + n_hashes))
}

/// The end of a character literal; `None` where the quote starts a lifetime.
fn char_end(chars: &[char], start: usize) -> Option<usize> {
    if chars.get(start + 1) == Some(&'\\') {
        let close = chars.get(start + 3..)?.iter().position(|&c| c == '\'')?;
        return Some(start + 3 + close + 1);
    }
    (chars.get(start + 2) == Some(&'\'')).then_some(start + 3)
}

/// `code` with every item under `#[cfg(test)]` blanked.
pub fn without_test_modules(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..at]);
        let end = at + item_len(&rest[at..]);
        out.extend(rest[at..end].chars().filter(|&c| c == '\n'));
        rest = &rest[end..];
    }
    out + rest
}

/// The bytes of the first item of `code`: to its closing brace, or to the semicolon before any brace.
fn item_len(code: &str) -> usize {
    let (mut depth, mut brackets) = (0_u32, 0_i32);
    for (at, c) in code.char_indices() {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets -= 1,
            ';' if depth == 0 && brackets == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The names and keywords of one line of code, in order.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Every function with a body: its name, its first line from 1 and how many lines it has.
pub fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for (idx, line) in code.split_inclusive('\n').enumerate() {
        let mut names = words(line).skip_while(|&word| word != "fn").skip(1);
        if let Some(name) = names.next().filter(|_| line.contains("fn ")) {
            let rest = &code[offset..];
            let from = rest.find("fn ").unwrap_or(0);
            let body = &rest[from..from + item_len(&rest[from..])];
            if body.ends_with('}') {
                found.push((name.to_owned(), idx + 1, body.lines().count()));
            }
        }
        offset += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked_and_lines_kept() {
        let text = "let a = \"unsafe\"; // unsafe\n/* unsafe\n */ let b = r#\"un\"safe\"#; let c = '\"'; fn d<'a>() {}";
        let blanked = code(text);
        assert_eq!(blanked.lines().count(), text.lines().count());
        assert!(!blanked.contains("safe"), "{blanked}");
        assert!(blanked.contains("let c =") && blanked.contains("fn d<'a>() {}"), "{blanked}");
    }

    #[test]
    fn test_modules_are_blanked() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { c() }\n}\nfn d() {}\n";
        let rest = without_test_modules(text);
        assert_eq!(rest.lines().count(), text.lines().count());
        assert!(rest.contains("fn a") && rest.contains("fn d") && !rest.contains("fn b"));
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let text = "fn a(x: [u8; 2]) {\n    if x {\n    }\n}\ntrait T {\n    fn b();\n}\n";
        assert_eq!(functions(text), vec![("a".to_owned(), 1, 4)]);
    }
}
