//! Texts and what is none.

use super::{Case, Line, Read, case, lazy};

pub fn cases() -> Vec<Case> {
    let mut cases = encodings();
    cases.extend(shapes());
    cases.extend(chats());
    cases.extend(logs());
    cases
}

fn encodings() -> Vec<Case> {
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let utf32: Vec<u8> = "hello there".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    vec![
        case(
            "UTF-16 little with a mark",
            "x.txt",
            [b"\xff\xfe".to_vec(), utf16("hello there", false)].concat(),
            Read(1),
        ),
        case("UTF-16 big with a mark", "x.txt", [b"\xfe\xff".to_vec(), utf16("hello there", true)].concat(), Read(1)),
        case("UTF-16 little without a mark, text", "x.txt", utf16("hello there", false), Read(1)),
        case("UTF-16 big without a mark, text", "x.txt", utf16("hello there", true), Read(1)),
        case("UTF-32", "x.txt", utf32, Line("binary")),
        case("Latin-1", "x.txt", &b"caf\xe9 au lait and more of it"[..], Read(1)),
        case("Shift-JIS", "x.txt", &b"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd"[..], Read(1)),
        case("a cut character at the end", "x.txt", &b"hello there \xf0\x9f\x98"[..], Read(1)),
        case("overlong NUL", "x.txt", &b"hello \xc0\x80 there"[..], Read(1)),
        case("six bytes for a character", "x.txt", &b"hello \xfc\x80\x80\x80\x80\x80 there"[..], Read(1)),
        case("a surrogate in a text", "x.txt", &b"hello \xed\xa0\x80 there"[..], Read(1)),
        case("surrogates of both halves", "x.txt", &b"hello \xed\xa0\xbd\xed\xb8\x80 there"[..], Read(1)),
        case("a surrogate cut at the end", "x.txt", &b"hello there \xed\xa0"[..], Read(1)),
        case("NUL here and there", "x.txt", &b"hello\0there and more of it"[..], Read(1)),
        case("only NUL", "x.txt", vec![0; 1000], Line("binary")),
        case("a mark and nothing", "x.txt", "\u{feff}", Line("empty")),
        case("marks in the middle of a text", "x.txt", "a\u{feff}b\u{feff}c", Read(1)),
        case("a mark cut short", "x.txt", &b"\xef\xbbhello there"[..], Read(1)),
        case("characters of no one", "x.txt", "a\u{e000}\u{10ffff}\u{fdd0}b", Read(1)),
        case("marks that combine without end", "x.txt", format!("a{}", "\u{301}".repeat(100_000)), Read(1)),
        case("directions that never end", "x.txt", "\u{202e}".repeat(10_000) + "a", Read(1)),
        case("escapes of a terminal", "x.txt", "\x1b[2J\x1b]0;title\x07 hello there and more of it", Read(1)),
    ]
}

fn shapes() -> Vec<Case> {
    vec![
        case("an empty text", "x.txt", "", Line("empty")),
        case("a text of spaces", "x.txt", " \n\t\r\n ", Line("empty")),
        case("an empty file without an ending", "x", "", Line("empty")),
        case("a program", "x.txt", &b"\x7fELF\x02\x01\x01\0\0\0\0"[..], Line("a program")),
        case("a picture called a text", "x.txt", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Line("PNG")),
        case("a page of a book", "x.txt", &b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"[..], Line("PDF")),
        case("a database", "x.txt", &b"SQLite format 3\0\x10\0\x01\x01"[..], Line("SQLite")),
        case("an ending of no one", "x.qqq", "hello there", Line("no reader knows")),
        lazy("a line of 60 MiB", "x.txt", || vec![b'x'; 60 << 20], Read(1)),
        lazy("ten million lines", "x.txt", || b"x\n".repeat(10_000_000), Read(1)),
        lazy("a text over the bound, of lines", "x.txt", || b"x\n".repeat(33 << 20), Line("at most 67108864")),
        lazy("markdown a million quotes deep", "x.md", || b">".repeat(1_000_000), Read(1)),
        lazy("markdown of brackets", "x.md", || b"[".repeat(200_000), Read(1)),
        lazy("markdown of stars", "x.md", || b"*a_".repeat(100_000), Read(1)),
        lazy(
            "markdown of backticks",
            "x.md",
            || (1..600).map(|n| "`".repeat(n) + " ").collect::<String>().into_bytes(),
            Read(1),
        ),
        lazy(
            "markdown of lists in lists",
            "x.md",
            || (0..2000).map(|n| " ".repeat(n) + "- a\n").collect::<String>().into_bytes(),
            Read(1),
        ),
        lazy(
            "markdown of a table without end",
            "x.md",
            || format!("{}\n{}\n", "|a".repeat(50_000), "|-".repeat(50_000)).into_bytes(),
            Read(1),
        ),
        lazy(
            "XML of entities",
            "x.txt",
            || {
                let mut xml = "<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a0 \"ha\">".to_owned();
                (1..60).for_each(|n| xml += &format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10)));
                (xml + "]><l>&a59;</l>").into_bytes()
            },
            Read(1),
        ),
    ]
}

fn chats() -> Vec<Case> {
    let said = |dates: &[&str]| dates.iter().map(|date| format!("[{date}, 10:00:00] Ana: hi\n")).collect::<String>();
    vec![
        case("WhatsApp of days that are none", "_chat.txt", said(&["99/99/2024", "00/00/0000"]), Read(1)),
        case("WhatsApp of years that are none", "_chat.txt", said(&["01/05/99999", "01/05/2024"]), Read(1)),
        case("WhatsApp of orders that quarrel", "_chat.txt", said(&["13/01/2024", "01/13/2024"]), Read(1)),
        case(
            "WhatsApp of hours that are none",
            "_chat.txt",
            "[01/05/2024, 99:99:99] Ana: hi\n[01/05/2024, 10:00:00] Ana: hi\n",
            Read(1),
        ),
        case("WhatsApp without words", "_chat.txt", "[01/05/2024, 10:00:00] Ana: \n", Read(1)),
        case(
            "WhatsApp without names",
            "_chat.txt",
            "[01/05/2024, 10:00:00] : hi\n[01/05/2024, 10:00:00] Ana: hi\n",
            Read(1),
        ),
        lazy(
            "WhatsApp of a message without end",
            "_chat.txt",
            || format!("[01/05/2024, 10:00:00] Ana: hi\n{}", "more\n".repeat(2_000_000)).into_bytes(),
            Read(1),
        ),
        lazy(
            "WhatsApp of a name without end",
            "_chat.txt",
            || {
                format!("[01/05/2024, 10:00:00] Ana: hi\n[01/05/2024, 10:00:00] {}: hi\n", "n".repeat(1 << 20))
                    .into_bytes()
            },
            Read(1),
        ),
        lazy(
            "WhatsApp of 300,000 messages",
            "_chat.txt",
            || b"[01/05/2024, 10:00:00] Ana: hi\n".repeat(300_000),
            Read(1),
        ),
    ]
}

fn logs() -> Vec<Case> {
    vec![
        lazy(
            "IRC of a line without end",
            "x.log",
            || format!("[10:00] <ana> {}\n", "x".repeat(20 << 20)).into_bytes(),
            Read(1),
        ),
        lazy(
            "IRC of a nick without end",
            "x.log",
            || format!("[10:00] <ana> hi\n[10:00] <{}> hi\n", "n".repeat(1 << 20)).into_bytes(),
            Read(1),
        ),
        case(
            "IRC of days that are none",
            "9999-99-99-x.log",
            "--- Day changed Xyz 99 2024\n[10:00] <ana> hi\n[99:99] <ana> hi\n",
            Read(1),
        ),
        lazy("a transcript of 100,000 turns", "x.txt", || b"User: hi\nAssistant: hello\n".repeat(50_000), Read(1)),
        lazy(
            "a transcript of 100,000 speakers",
            "x.txt",
            || (0..100_000).map(|n| format!("A{n}: hi\n")).collect::<String>().into_bytes(),
            Read(1),
        ),
        lazy(
            "a rule that underlines nothing",
            "x.rst",
            || format!("{}\n{}\n", "a".repeat(1 << 20), "=".repeat(1 << 20)).into_bytes(),
            Read(1),
        ),
    ]
}
