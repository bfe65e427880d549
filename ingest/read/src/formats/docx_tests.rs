//! What DOCX files become.

use super::office_tests::{import, read_whole, refused, text, zipped};

const TYPES: &str = "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>\
    <Override PartName='/word/document.xml' ContentType='application/vnd.openxmlformats-officedocument.\
wordprocessingml.document.main+xml'/></Types>";

const STYLES: &str = "<w:styles>\
    <w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>\
    <w:style w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='berschrift1'/></w:style>\
    <w:style w:styleId='Out'><w:name w:val='Out'/><w:pPr><w:outlineLvl w:val='2'/></w:pPr></w:style>\
    <w:style w:styleId='Loop'><w:basedOn w:val='Loop'/></w:style>\
    <w:style w:styleId='Items'><w:pPr><w:numPr><w:numId w:val='2'/></w:numPr></w:pPr></w:style></w:styles>";

const NUMBERING: &str = "<w:numbering>\
    <w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='3'/><w:numFmt w:val='decimal'/></w:lvl>\
    <w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='lowerLetter'/></w:lvl></w:abstractNum>\
    <w:abstractNum w:abstractNumId='1'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum>\
    <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>\
    <w:num w:numId='2'><w:abstractNumId w:val='1'/></w:num></w:numbering>";

fn docx(body: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    let document = format!("<?xml version='1.0'?><w:document><w:body>{body}</w:body></w:document>");
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("[Content_Types].xml", TYPES.as_bytes()),
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", STYLES.as_bytes()),
        ("word/numbering.xml", NUMBERING.as_bytes()),
    ];
    entries.extend(more);
    zipped(&entries)
}

/// A paragraph with these properties and words.
fn p(properties: &str, words: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>")
}

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(read_whole("a.docx", &docx(body, &[])), expected);
}

#[test]
fn headings_are_known_by_name_base_and_outline() {
    let style = |id: &str| format!("<w:pStyle w:val='{id}'/>");
    check(&p(&style("berschrift1"), "Beds"), "# Beds");
    check(&p(&style("Own"), "Beds"), "# Beds");
    check(&p(&style("Out"), "Beds"), "### Beds");
    check(&p("<w:outlineLvl w:val='1'/>", "Beds"), "## Beds");
    check(&p(&style("Titre2"), "Beds"), "## Beds");
    check(&p(&style("Loop"), "Beds"), "Beds");
    check(&p(&format!("{}<w:outlineLvl w:val='9'/>", style("berschrift1")), "Beds"), "Beds");
}

#[test]
fn lists_keep_their_levels_and_go_on_counting() {
    let item = |num: u32, level: u32, words: &str| {
        p(&format!("<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{num}'/></w:numPr>"), words)
    };
    let body = [item(1, 0, "dig"), item(1, 1, "deep"), item(1, 0, "sow"), p("", "Rest."), item(1, 0, "water")].concat();
    check(&body, "3. dig\n   1. deep\n4. sow\n\nRest.\n\n5. water");
    let body = [p("<w:pStyle w:val='Items'/>", "plums"), p("<w:pStyle w:val='Items'/>", "pears")].concat();
    check(&body, "- plums\n- pears");
    check(&p("<w:pStyle w:val='Items'/><w:numPr><w:numId w:val='0'/></w:numPr>", "plums"), "plums");
}

#[test]
fn tables_are_tables_and_merged_cells_keep_their_columns() {
    let cell = |properties: &str, words: &str| format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", p("", words));
    let rows = [
        format!("<w:tr>{}{}</w:tr>", cell("", "bed"), cell("", "crop")),
        format!("<w:tr>{}</w:tr>", cell("<w:gridSpan w:val='2'/>", "both")),
        format!("<w:tr><w:trPr><w:del w:id='1'/></w:trPr>{}{}</w:tr>", cell("", "gone"), cell("", "away")),
        format!("<w:tr>{}{}</w:tr>", cell("", "1|2"), cell("", "beans")),
    ];
    let expected = "Before\n\n| bed | crop |\n| --- | --- |\n| both |  |\n| 1\\|2 | beans |\n\nAfter";
    check(&format!("{}<w:tbl>{}</w:tbl>{}", p("", "Before"), rows.concat(), p("", "After")), expected);
}

#[test]
fn inserted_words_are_kept_and_deleted_ones_left_out() {
    let body = "<w:p><w:r><w:t>We </w:t></w:r><w:del w:id='1'><w:r><w:delText>dig</w:delText></w:r></w:del>\
        <w:ins w:id='2'><w:r><w:t>plant</w:t></w:r></w:ins><w:r><w:t> on Monday.</w:t></w:r></w:p>\
        <w:p><w:moveFrom w:id='3'><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>\
        <w:p><w:moveTo w:id='3'><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p>\
        <w:p><w:pPr><w:rPr><w:del w:id='4'/></w:rPr><w:pPrChange><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:pPrChange>\
        </w:pPr><w:r><w:t>One line </w:t></w:r></w:p><w:p><w:r><w:t>of two.</w:t></w:r></w:p>";
    check(body, "We plant on Monday.\n\nmoved\n\nOne line of two.");
}

#[test]
fn fields_show_their_results_and_boxes_come_once() {
    let field = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let instruction = "<w:r><w:instrText> PAGE </w:instrText></w:r><w:r><w:t>not this</w:t></w:r>";
    let body = format!(
        "<w:p><w:r><w:t>Page </w:t></w:r>{}{instruction}{}<w:r><w:t>7</w:t></w:r>{}</w:p>\
         <w:p>{}<w:r><w:instrText>LOST</w:instrText></w:r></w:p>{}",
        field("begin"),
        field("separate"),
        field("end"),
        field("begin"),
        p("", "What follows is not lost."),
    );
    check(&body, "Page 7\n\nWhat follows is not lost.");
    let boxed = |words: &str| format!("<w:pict><w:txbxContent>{}</w:txbxContent></w:pict>", p("", words));
    let body = format!(
        "<w:p><w:r><w:t>Around</w:t></w:r><w:r><mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}\
         </mc:Fallback></mc:AlternateContent></w:r><w:r><w:t> it</w:t></w:r></w:p>",
        boxed("In the box"),
        boxed("In the box"),
    );
    check(&body, "Around it\n\nIn the box");
}

#[test]
fn breaks_tabs_and_marks_of_markdown() {
    let body = "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t><w:br w:type='page'/>\
        <w:t># four</w:t><w:noBreakHyphen/><w:t>five</w:t></w:r></w:p>";
    check(body, "one\ntwo three\n\n\\# four\u{2011}five");
    let body = "<w:p><w:hyperlink r:id='x'><w:r><w:t>the plan</w:t></w:r></w:hyperlink><w:r><w:ruby><w:rt><w:r>\
        <w:t>かんじ</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>";
    check(body, "the plan漢字(かんじ)");
}

#[test]
fn notes_and_comments_stand_below_and_the_file_says_who_wrote_it() {
    let body = "<w:p><w:r><w:t>Plums</w:t><w:footnoteReference w:id='7'/></w:r><w:r><w:t> and pears</w:t>\
        <w:commentReference w:id='0'/><w:endnoteReference w:id='7'/></w:r></w:p>";
    let foot =
        format!("<w:footnotes><w:footnote w:id='7'>{}{}</w:footnote></w:footnotes>", p("", "Blue."), p("", "Ripe."));
    let end = format!("<w:endnotes><w:endnote w:id='7'>{}</w:endnote></w:endnotes>", p("", "Green."));
    let comment = format!(
        "<w:comments><w:comment w:id='0' w:author='Mira' w:date='2024-05-01T10:00:00Z'>{}</w:comment></w:comments>",
        p("", "How many?")
    );
    let core = "<cp:coreProperties><dc:title>Our trees</dc:title><dc:creator>Mira</dc:creator>\
        <dcterms:created>2024-05-01T09:00:00Z</dcterms:created></cp:coreProperties>";
    let more: &[(&str, &[u8])] = &[
        ("word/footnotes.xml", foot.as_bytes()),
        ("word/endnotes.xml", end.as_bytes()),
        ("word/comments.xml", comment.as_bytes()),
        ("docProps/core.xml", core.as_bytes()),
    ];
    // A file is known by what is in it.
    let (drafts, troubles) = import(&[("renamed.bin", &docx(body, more))], None);
    assert_eq!(troubles, [""; 0]);
    let draft = &drafts[0];
    assert_eq!(
        text(draft),
        "Plums[^1] and pears[^c1][^2]\n\n[^1]: Blue.\n\n    Ripe.\n\n[^2]: Green.\n\n\
         [^c1]: Comment by Mira, 2024-05-01T10:00:00Z: How many?"
    );
    assert_eq!((draft.title.as_str(), draft.is_complete), ("Our trees", true));
    assert_eq!((&*draft.metadata["author"], &*draft.metadata["created"]), ("Mira", "2024-05-01T09:00:00Z"));
}

#[test]
fn a_document_in_archives_goes_in_and_another_format_is_not_forced_on_it() {
    let inner = zipped(&[("plan.docx", &docx(&p("", "Beans."), &[]))]);
    let outer = zipped(&[("inner.zip", &inner), ("note.txt", b"Peas.")]);
    let deepest = zipped(&[("outer.zip", &outer)]);
    let (drafts, troubles) = import(&[("a.zip", &deepest)], None);
    assert_eq!(troubles, [""; 0]);
    assert_eq!(drafts.iter().map(text).collect::<Vec<_>>(), ["Beans.", "Peas."]);
    let (drafts, troubles) = import(&[("a.zip", &outer)], Some("docx"));
    assert_eq!(drafts.iter().map(text).collect::<Vec<_>>(), ["Beans."]);
    assert!(troubles[0].contains("not a document"), "{troubles:?}");
    let (drafts, troubles) = import(&[("a.docx", &docx(&p("", "Beans."), &[]))], Some("text"));
    assert!(drafts.is_empty() && troubles[0].contains("the reader docx knows"), "{troubles:?}");
}

#[test]
fn hostile_documents_are_told_and_their_neighbours_go_in() {
    refused("empty.docx", &docx("<w:p/>", &[]), "empty");
    let types = ("[Content_Types].xml", TYPES.as_bytes());
    refused("without.docx", &zipped(&[types, ("word/styles.xml", STYLES.as_bytes())]), "without its text");
    let bomb = vec![b' '; 64 << 20];
    refused("bomb.docx", &zipped(&[types, ("word/document.xml", &bomb)]), "times as many");
    let whole = docx(&p("", "Beans."), &[]);
    refused("cut.docx", &whole[..whole.len() / 2], "damaged ZIP");
    let words: String = (0..9_000_000_u32).map(|n| char::from(b'a' + (n.wrapping_mul(n) >> 7) as u8 % 26)).collect();
    refused("long.docx", &docx(&p("", &words), &[]), "bytes");
    refused("wide.docx", &docx(&format!("<w:p w:a='{words}'/>"), &[]), "bytes");
}

#[test]
fn what_stands_before_the_damage_is_kept_and_the_damage_told() {
    let (drafts, troubles) = import(&[("a.docx", &docx(&format!("{}<w:p></w:r>", p("", "Beans.")), &[]))], None);
    assert_eq!((text(&drafts[0]), drafts[0].is_complete), ("Beans.", false));
    assert!(troubles[0].contains("word/document.xml byte"), "{troubles:?}");
    let body = p("", "Beans &b; &x;.");
    let types = "<!DOCTYPE w [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>";
    let document = format!("{types}<w:document>{body}</w:document>");
    let file = zipped(&[("[Content_Types].xml", TYPES.as_bytes()), ("word/document.xml", document.as_bytes())]);
    let (drafts, troubles) = import(&[("a.docx", &file)], None);
    assert_eq!(text(&drafts[0]), "Beans &b; &x;.");
    assert!(troubles[0].contains("&b;: an entity"), "{troubles:?}");
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("<w:x>", "</w:x>"), ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>")] {
        let body = format!("{}{}{}", open.repeat(100_000), p("", "Deep."), close.repeat(100_000));
        check(&body, "Deep.");
    }
    let body = format!("{}Deep.{}", "<w:p><w:r><w:t>".repeat(50_000), "</w:t></w:r></w:p>".repeat(50_000));
    check(&body, "Deep.");
}
