//! What ODT, EPUB, RTF and PDF files become.

use super::office_tests::{import, read_whole, refused, text, zipped};

fn odt(body: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles><text:list-style style:name='L1'>\
         <text:list-level-style-number text:level='1' style:num-format='1'/>\
         <text:list-level-style-bullet text:level='2'/></text:list-style></office:automatic-styles>\
         <office:body><office:text>{body}</office:text></office:body></office:document-content>"
    );
    let mut entries: Vec<(&str, &[u8])> =
        vec![("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", content.as_bytes())];
    entries.extend(more);
    zipped(&entries)
}

#[test]
fn odt_keeps_headings_lists_tables_and_notes_and_leaves_out_what_was_deleted() {
    let body = "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>\
        </text:changed-region></text:tracked-changes>\
        <text:h text:outline-level='2'>The <text:span>fence</text:span></text:h>\
        <text:p>It fell<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>In May.</text:p>\
        </text:note-body></text:note>,<text:s text:c='3'/>twice<text:line-break/>over.<office:annotation>\
        <dc:creator>Mira</dc:creator><dc:date>2024-05-01</dc:date><text:p>Why?</text:p></office:annotation></text:p>\
        <text:list text:style-name='L1'><text:list-item><text:p>posts</text:p><text:list><text:list-item>\
        <text:p>oak</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>wire</text:p>\
        </text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>part</text:p>\
        </table:table-cell><table:table-cell><text:p>price</text:p></table:table-cell></table:table-row></table:table>\
        <text:p>Around<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame> it</text:p>";
    assert_eq!(
        read_whole("renamed.bin", &odt(body, &[])),
        "## The fence\n\nIt fell[^1], twice\nover.[^c2]\n\n1. posts\n   - oak\n2. wire\n\n\
         | part | price |\n| --- | --- |\n\nAround it\n\nboxed\n\n\
         [^1]: In May.\n\n[^c2]: Comment by Mira, 2024-05-01: Why?"
    );
}

#[test]
fn odt_that_is_hostile_is_told() {
    let password = b"<manifest><file-entry><encryption-data/></file-entry></manifest>";
    refused("a.odt", &odt("<text:p>x</text:p>", &[("META-INF/manifest.xml", password)]), "password");
    refused("a.odt", &zipped(&[("mimetype", b"application/vnd.oasis.opendocument.text")]), "without its text");
    let deep = format!("{}<text:p>Deep.</text:p>{}", "<text:list>".repeat(100_000), "</text:list>".repeat(100_000));
    assert_eq!(read_whole("a.odt", &odt(&deep, &[])), "Deep.");
}

fn epub(chapters: &[(&str, &str)], more: &[(&str, &[u8])]) -> Vec<u8> {
    let items: String = chapters.iter().map(|(id, _)| format!("<item id='{id}' href='{id}.xhtml'/>")).collect();
    let spine: String = chapters.iter().rev().map(|(id, _)| format!("<itemref idref='{id}'/>")).collect();
    let opf = format!(
        "<package><metadata><dc:title>A Year</dc:title><dc:creator>Mira</dc:creator><dc:creator>Bo</dc:creator>\
         <dc:language>en</dc:language></metadata><manifest>{items}<item id='n' properties='nav' href='nav.xhtml'/>\
         </manifest><spine><itemref idref='n'/>{spine}</spine></package>"
    );
    let pages: Vec<(String, String)> = chapters
        .iter()
        .map(|(id, body)| {
            (format!("O/{id}.xhtml"), format!("<html><head><title>t</title></head><body>{body}</body></html>"))
        })
        .collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<container><rootfile full-path='O/book.opf'/></container>"),
        ("O/book.opf", opf.as_bytes()),
        ("O/nav.xhtml", b"<html><nav><a href='two.xhtml#x'>The second</a></nav></html>"),
    ];
    entries.extend(pages.iter().map(|(name, page)| (name.as_str(), page.as_bytes())));
    entries.extend(more);
    zipped(&entries)
}

#[test]
fn epub_goes_by_its_spine_and_names_chapters_without_a_heading() {
    let book =
        epub(&[("two", "<p>Rain&nbsp;&eacute;.</p><script>no</script>"), ("one", "<h1>Spring</h1><p>Dig.</p>")], &[]);
    let (drafts, troubles) = import(&[("a.epub", &book)], None);
    assert_eq!(troubles, [""; 0]);
    assert_eq!(text(&drafts[0]), "# Spring\n\nDig.\n\n# The second\n\nRain \u{e9}.");
    assert_eq!((drafts[0].title.as_str(), &*drafts[0].metadata["author"]), ("A Year", "Mira, Bo"));
}

#[test]
fn epub_tells_chapters_it_lacks_and_those_that_are_locked() {
    let locked = b"<encryption><CipherReference URI='O/two.xhtml'/></encryption>";
    let book = epub(&[("two", "<p>xx</p>"), ("one", "<p>Dig.</p>")], &[("META-INF/encryption.xml", locked)]);
    let (drafts, troubles) = import(&[("a.epub", &book)], None);
    assert_eq!((text(&drafts[0]), drafts[0].is_complete), ("Dig.", false));
    assert!(troubles[0].contains("O/two.xhtml: an encrypted chapter"), "{troubles:?}");
    refused("a.epub", &zipped(&[("mimetype", b"application/epub+zip")]), "without the list");
}

#[track_caller]
fn check_rtf(body: &str, expected: &str) {
    let file = format!(
        "{{\\rtf1\\ansi\\ansicpg1252{{\\fonttbl{{\\f0 A;}}{{\\f1\\fcharset204 B;}}{{\\f2\\fcharset128 C;}}}}{body}}}"
    );
    assert_eq!(read_whole("a.rtf", file.as_bytes()), expected);
}

#[test]
fn rtf_text_is_decoded_by_font_and_by_number() {
    check_rtf(
        "caf\\'e9 \\f1\\'cf\\'f0\\f0  \\u8211?x\\uc2\\u233ab\\uc0\\u233 z",
        "caf\u{e9} \u{41f}\u{440} \u{2013}x\u{e9}\u{e9}z",
    );
    check_rtf("\\f2\\'93\\'fa\\'96\\'7b\\'83A", "\u{65e5}\u{672c}\u{30a2}");
    check_rtf("\\u-10179?\\u-8704? \\{x\\}\\~y\\_z\\emdash", "\u{1f600} {x} y\u{2011}z\u{2014}");
}

#[test]
fn rtf_structure_is_kept_and_what_is_no_text_left_out() {
    check_rtf(
        "{\\stylesheet{\\s1 heading 1;}}{\\info{\\title T}}{\\pict 00ff}{\\*\\unknown no}\\pard\\s1 Beds\\par\
         \\pard One{\\footnote Two.} and {\\field{\\*\\fldinst PAGE}{\\fldrslt 7}}{\\deleted gone}\\line b\\par\
         {\\listtext 1.\\tab}dig\\par{\\listtext 2.\\tab}sow\\par\
         \\trowd\\intbl a\\cell b\\cell\\row\\intbl 1\\cell 2\\cell\\row\
         \\pard End",
        "# Beds\n\nOne[^1] and 7\nb\n\n1. dig\n2. sow\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nEnd\n\n[^1]: Two.",
    );
}

#[test]
fn rtf_that_is_cut_or_deep_is_told_and_read() {
    let (drafts, troubles) = import(&[("a.rtf", b"{\\rtf1 Beds{\\b and")], None);
    assert_eq!(text(&drafts[0]), "Bedsand");
    assert!(troubles[0].contains("ends within a group"), "{troubles:?}");
    let deep = format!("{{\\rtf1 {}Deep.{}}}", "{\\footnote ".repeat(50_000), "}".repeat(50_000));
    assert!(read_whole("a.rtf", deep.as_bytes()).contains("Deep."));
    refused("a.rtf", b"{\\rtf1 }", "empty");
}

/// A PDF whose pages draw these operations.
fn pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut starts = Vec::new();
    let kids: String = (0..pages.len()).map(|idx| format!("{} 0 R ", 4 + idx * 2)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{kids}]/Count {}>>", pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for (idx, page) in pages.iter().enumerate() {
        let n = 5 + idx * 2;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents {n} 0 R>>"
        ));
        objects.push(format!("<</Length {}>>\nstream\n{page}\nendstream", page.len()));
    }
    for (idx, object) in objects.iter().enumerate() {
        starts.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", idx + 1).bytes());
    }
    let at = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", starts.len() + 1).bytes());
    starts.iter().for_each(|start| out.extend(format!("{start:010} 00000 n \n").bytes()));
    out.extend(format!("trailer<</Root 1 0 R/Size {}{trailer}>>\nstartxref\n{at}\n%%EOF", starts.len() + 1).bytes());
    out
}

#[test]
fn pdf_pages_are_paragraphs_and_pages_without_text_are_told() {
    let words = |text: &str| format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET");
    let file = pdf(&[&words("The first page."), "0 0 100 100 re f", "", &words("caf\\351 here.")], "");
    let (drafts, troubles) = import(&[("renamed.bin", &file)], None);
    assert_eq!(text(&drafts[0]), "The first page.\n\ncaf\u{e9} here.");
    assert_eq!(&*drafts[0].metadata["pages"], "0 15 15 17");
    assert_eq!(
        (drafts[0].remarks.as_slice(), drafts[0].is_complete),
        (["blank pages: 3".to_owned()].as_slice(), false)
    );
    assert_eq!(troubles, ["renamed.bin: page 2: no text, perhaps a scan"]);
}

#[test]
fn pdf_that_is_hostile_is_told() {
    refused("a.pdf", &pdf(&["0 0 9 9 re f", "0 0 9 9 re f"], ""), "pages 1 to 2: no text");
    refused("a.pdf", b"%PDF-1.7\n\x00\x01\x02", "a damaged PDF");
    let locked = "/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -4/O<\
        00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff>\
        /U<ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100>>>/ID[<00><00>]";
    refused("a.pdf", &pdf(&["BT ET"], locked), "password");
    let (drafts, troubles) = import(&[("a.pdf", &pdf(&["BT /F 12 Tf (x) Tj ET"], ""))], Some("text"));
    assert!(drafts.is_empty() && troubles[0].contains("a PDF"), "{troubles:?}");
}
