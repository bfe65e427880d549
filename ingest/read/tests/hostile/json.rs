//! JSON: how it is strung together, cut, nested and spelled.

use super::{Both, Case, Line, Lines, Read, case, lazy};

const GOOD: &str = r#"{"role":"user","content":"hello"}"#;
const DEEP: &str = "recursion limit";

/// An array of messages with `odd` between two that are whole.
fn among(odd: &str) -> String {
    format!("[{GOOD},{odd},{GOOD}]")
}

/// A message that says `json`.
fn says(json: &str) -> String {
    among(&format!(r#"{{"role":"user","content":{json}}}"#))
}

pub fn cases() -> Vec<Case> {
    let mut cases = nesting();
    cases.extend(spelling());
    cases.extend(bytes());
    cases.extend(ends());
    cases.extend(large());
    cases
}

fn nesting() -> Vec<Case> {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let inside = |n: usize| among(&format!(r#"{{"role":"user","content":"hi","x":{}}}"#, nested(n)));
    vec![
        lazy("a million brackets", "x.json", || vec![b'['; 1_000_000], Line("")),
        lazy(
            "a million brackets that close",
            "x.json",
            || [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat(),
            Line(""),
        ),
        lazy("a million objects", "x.json", || br#"{"messages":"#.repeat(1_000_000), Line("")),
        lazy("a million closing brackets", "x.json", || vec![b']'; 1_000_000], Line("")),
        lazy("a million brackets that do not match", "x.json", || b"[{".repeat(500_000), Line("")),
        case("a record 100 deep", "x.json", inside(100), Read(1)),
        case("a record 200 deep", "x.json", inside(200), Both(1, DEEP)),
        case("a record a million deep", "x.json", inside(1_000_000), Both(1, DEEP)),
        case("lines a million deep", "x.jsonl", format!("{GOOD}\n{}\n{GOOD}\n", nested(1_000_000)), Both(1, DEEP)),
        case("words that are a deep nest", "x.json", says(&nested(100_000)), Both(1, DEEP)),
        case("brackets in a text", "x.json", says(&format!("{:?}", "[{".repeat(100_000))), Read(1)),
    ]
}

fn spelling() -> Vec<Case> {
    let bad = "not JSON";
    vec![
        case("NaN", "x.json", among(r#"{"role":"user","content":"hi","time":NaN}"#), Both(1, bad)),
        case("Infinity", "x.json", among(r#"{"role":"user","content":"hi","time":-Infinity}"#), Both(1, bad)),
        case("undefined", "x.json", says("undefined"), Both(1, bad)),
        case(
            "a number of 10,000 digits",
            "x.json",
            among(&format!(r#"{{"role":"user","content":"hi","time":{}}}"#, "9".repeat(10_000))),
            Both(1, ""),
        ),
        case(
            "a number that is too large",
            "x.json",
            among(r#"{"role":"user","content":"hi","time":1e999}"#),
            Both(1, ""),
        ),
        case(
            "a number that is nearly nothing",
            "x.json",
            among(r#"{"role":"user","content":"hi","time":1e-999}"#),
            Read(1),
        ),
        case("minus nothing", "x.json", among(r#"{"role":"user","content":"hi","time":-0}"#), Read(1)),
        case(
            "a number with zeros before it",
            "x.json",
            among(r#"{"role":"user","content":"hi","time":007}"#),
            Both(1, bad),
        ),
        case("a hexadecimal number", "x.json", among(r#"{"role":"user","content":"hi","time":0x1f}"#), Both(1, bad)),
        case("single quotes", "x.json", among("{'role':'user','content':'hi'}"), Both(1, bad)),
        case("names without quotes", "x.json", among("{role:\"user\",content:\"hi\"}"), Both(1, bad)),
        case("a comment", "x.json", among("{\"role\":\"user\",/* so */\"content\":\"hi\"}"), Both(1, bad)),
        case("a comma before the end of a record", "x.json", among(r#"{"role":"user","content":"hi",}"#), Both(1, bad)),
        case("a name twice", "x.json", among(r#"{"role":"user","role":"user","content":"a","content":"b"}"#), Read(1)),
        case(
            "the list twice",
            "x.json",
            r#"[{"id":"1","messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}]"#,
            Read(1),
        ),
        case("a name of nothing", "x.json", among(r#"{"":"","role":"user","content":"hi"}"#), Read(1)),
        case(
            "a name of a million letters",
            "x.json",
            among(&format!(r#"{{"{}":1,"role":"user","content":"hi"}}"#, "n".repeat(1_000_000))),
            Read(1),
        ),
        case("half a surrogate", "x.json", says(r#""a\ud83d""#), Read(1)),
        case("the other half", "x.json", says(r#""\ude00b""#), Read(1)),
        case("halves in the wrong order", "x.json", says(r#""\ude00\ud83d""#), Read(1)),
        case("half a surrogate at the end of the record", "x.json", r#"[{"role":"user","content":"\ud83d"}]"#, Read(1)),
        case("half a surrogate in a name", "x.json", among(r#"{"\ud83d":1,"role":"user","content":"hi"}"#), Read(1)),
        case("half a surrogate before an escape", "x.json", says(r#""\ud83d\n""#), Read(1)),
        case("an escape of no one", "x.json", says(r#""\x41""#), Both(1, bad)),
        case("an escape cut short", "x.json", says(r#""\u12""#), Both(1, bad)),
        case("NUL as an escape", "x.json", says(r#""a\u0000b""#), Read(1)),
        case("a backslash at the end", "x.json", r#"[{"role":"user","content":"a\"#, Line("ends inside")),
        case("null for a record", "x.json", among("null"), Both(1, "no words")),
        case("a number for a record", "x.json", among("7"), Both(1, "no words")),
        case("a list for a record", "x.json", among("[]"), Both(1, "no words")),
        case("true for words", "x.json", says("true"), Read(1)),
        case("words in a nest of lists", "x.json", says(r#"[[["a"]]]"#), Read(1)),
        case("an author that is a list", "x.json", among(r#"{"author":["a"],"content":"hi"}"#), Read(1)),
    ]
}

fn bytes() -> Vec<Case> {
    let raw = |bytes: &[u8]| {
        [b"[".as_slice(), GOOD.as_bytes(), br#",{"role":"user","content":""#, bytes, br#""},"#, GOOD.as_bytes(), b"]"]
            .concat()
    };
    let bad = "not UTF-8";
    let utf16: Vec<u8> = among(GOOD).encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        case("NUL in a text", "x.json", raw(b"a\0b"), Read(1)),
        case("line ends in a text", "x.json", raw(b"a\nb\r\nc\td"), Read(1)),
        case("a bell in a text", "x.json", raw(b"a\x07b"), Read(1)),
        case("a surrogate as bytes", "x.json", raw(b"a\xed\xa0\xbdb"), Read(1)),
        case("both halves as bytes", "x.json", raw(b"\xed\xa0\xbd\xed\xb8\x80"), Read(1)),
        case("Latin-1 in a text", "x.json", raw(b"caf\xe9"), Both(1, bad)),
        case("a cut character", "x.json", raw(b"a\xf0\x9f\x98"), Both(1, bad)),
        case("a byte that continues nothing", "x.json", raw(b"a\x80b"), Both(1, bad)),
        case("an overlong slash", "x.json", raw(b"a\xc0\xafb"), Both(1, bad)),
        case("a character beyond the last", "x.json", raw(b"a\xf4\x90\x80\x80b"), Both(1, bad)),
        case("a byte of no one", "x.json", raw(b"a\xffb"), Both(1, bad)),
        case("a mark in the middle", "x.json", raw("a\u{feff}b".as_bytes()), Read(1)),
        case("a mark before it", "x.json", format!("\u{feff}{}", among(GOOD)), Read(1)),
        case("two marks before it", "x.json", format!("\u{feff}\u{feff}{}", among(GOOD)), Line("")),
        case("a mark before every line", "x.jsonl", format!("\u{feff}{GOOD}\n\u{feff}{GOOD}\n"), Both(1, "not JSON")),
        case("UTF-16 with a mark", "x.json", [&b"\xff\xfe"[..], &utf16].concat(), Line("UTF-16")),
        case("UTF-16 without a mark", "x.json", utf16, Line("UTF-16")),
        case(
            "spaces of other scripts between records",
            "x.json",
            format!("[{GOOD},\u{a0}{GOOD}]"),
            Lines(1, 2, "not JSON"),
        ),
        case(
            "a line separator between lines",
            "x.jsonl",
            format!("{GOOD}\u{2028}{GOOD}\n{GOOD}\n"),
            Both(1, "not JSON"),
        ),
    ]
}

fn ends() -> Vec<Case> {
    vec![
        case("a list without end", "x.json", format!("[{GOOD},{GOOD}"), Both(1, "ends inside")),
        case("a record without end", "x.json", format!("[{GOOD},{{\"role\":\"us"), Both(1, "ends inside")),
        case("a list and more behind it", "x.json", format!("{} more", among(GOOD)), Both(1, "behind")),
        case("a list and another", "x.json", format!("{}{}", among(GOOD), among(GOOD)), Both(1, "behind")),
        case("a comma at the end of a list", "x.json", format!("[{GOOD},]"), Both(1, "not JSON")),
        case("no comma between records", "x.json", format!("[{GOOD} {GOOD}]"), Both(1, "not JSON")),
        case("two commas", "x.json", format!("[{GOOD},,{GOOD}]"), Both(1, "not JSON")),
        case("lines with a comma behind each", "x.jsonl", format!("{GOOD},\n{GOOD},\n"), Both(1, "not JSON")),
        case("lines of which the last is cut", "x.jsonl", format!("{GOOD}\n{GOOD}\n{{\"role\":"), Both(1, "")),
        case("lines without line ends", "x.jsonl", format!("{GOOD}{GOOD}{GOOD}"), Read(1)),
        case("blank lines", "x.jsonl", format!("\n\n{GOOD}\n\n\n{GOOD}\n\n"), Read(1)),
        case("old line ends", "x.jsonl", format!("{GOOD}\r{GOOD}\r"), Read(1)),
        case("only a bracket", "x.json", "[", Line("")),
        case("only a quotation mark", "x.json", "\"", Line("")),
        case("only a mark", "x.json", "\u{feff}", Line("")),
        case("only spaces", "x.json", " \n\t \n", Line("")),
        case("an empty list", "x.json", "[]", Line("")),
        case("an empty object", "x.json", "{}", Line("")),
        case("a text alone", "x.json", "\"hello\"", Line("")),
        case("null alone", "x.json", "null", Line("")),
        case("a page instead of JSON", "x.json", "<!doctype html><title>Error 404</title>", Line("")),
    ]
}

fn large() -> Vec<Case> {
    vec![
        lazy("a record of 64 MiB of tiny values", "x.json", || tiny("0,"), Both(1, "values in one record")),
        lazy("a record of 64 MiB of empty lists", "x.json", || tiny("[],"), Both(1, "values in one record")),
        lazy("a record of 64 MiB of empty objects", "x.json", || tiny("{},"), Both(1, "values in one record")),
        lazy("a record of 64 MiB of tiny texts", "x.json", || tiny("\"\","), Both(1, "values in one record")),
        lazy(
            "a line of 64 MiB of tiny values",
            "x.jsonl",
            || {
                let line = format!(r#"{{"conversation":"a","text":"b","x":[{}0]}}"#, "0,".repeat(30 << 20));
                format!("{{\"conversation\":\"a\",\"text\":\"b\"}}\n{line}\n").into_bytes()
            },
            Both(1, "values in one record"),
        ),
        lazy("a text of 63 MiB", "x.json", || says(&format!("{:?}", "x".repeat(63 << 20))).into_bytes(), Read(1)),
        lazy(
            "a text over the bound",
            "x.json",
            || says(&format!("{:?}", "x".repeat(65 << 20))).into_bytes(),
            Both(1, "at most 67108864"),
        ),
        lazy(
            "a line over the bound",
            "x.jsonl",
            || format!("{GOOD}\n{{\"role\":\"user\",\"content\":\"{}\"}}\n{GOOD}\n", "x".repeat(65 << 20)).into_bytes(),
            Both(1, "at most 67108864"),
        ),
        lazy("a number of 65 MiB", "x.json", || among(&"9".repeat(65 << 20)).into_bytes(), Both(1, "at most 67108864")),
        lazy(
            "a text of escapes",
            "x.json",
            || says(&format!("\"{}\"", "\\u0061".repeat(5 << 20))).into_bytes(),
            Read(1),
        ),
        lazy(
            "a text of half surrogates",
            "x.json",
            || says(&format!("\"{}\"", "\\ud83d".repeat(1 << 20))).into_bytes(),
            Read(1),
        ),
        lazy(
            "a text of backslashes",
            "x.json",
            || says(&format!("\"{}\"", "\\\\".repeat(16 << 20))).into_bytes(),
            Read(1),
        ),
        lazy(
            "60 MiB of spaces between records",
            "x.json",
            || format!("[{GOOD},{}{GOOD}]", " ".repeat(60 << 20)).into_bytes(),
            Read(1),
        ),
        lazy(
            "100 MiB of spaces before the first record",
            "x.json",
            || format!("{}[{GOOD}]", " ".repeat(100 << 20)).into_bytes(),
            Line(""),
        ),
        lazy(
            "a million messages",
            "x.json",
            || format!("[{}{GOOD}]", format!("{GOOD},").repeat(999_999)).into_bytes(),
            Line("at most 67108864"),
        ),
    ]
}

fn tiny(value: &str) -> Vec<u8> {
    let n = (60 << 20) / value.len();
    among(&format!(r#"{{"role":"user","content":"hi","x":[{}0]}}"#, value.repeat(n))).into_bytes()
}
