//! What RTF's words and numbers stand for: groups without text, code pages, character sets of fonts.

use encoding_rs::Encoding;

/// Groups that hold no text of the document.
pub(super) const LEFT_OUT: &[&str] = &[
    "colortbl",
    "pict",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "fldinst",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "themedata",
    "colorschememapping",
    "datastore",
    "xmlnstbl",
    "filetbl",
    "revtbl",
    "nonshppict",
    "objdata",
    "objclass",
    "bkmkstart",
    "bkmkend",
    "latentstyles",
    "pgdsctbl",
    "mmathPr",
    "wgrffmtfilter",
    "ftnsep",
    "ftnsepc",
    "aftnsep",
    "aftnsepc",
    "atnid",
    "atnref",
    "atnparent",
    "sp",
    "sn",
    "sv",
    "passwordhash",
    "template",
    "userprops",
    "docvar",
    "ftncn",
    "aftncn",
    "operator",
    "manager",
    "company",
];

/// The encoding of a Windows or Macintosh code page.
pub(super) fn code_page(n: i32) -> Option<&'static Encoding> {
    let name = match n {
        874 | 1250..=1258 => format!("windows-{n}"),
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        866 => "ibm866".to_owned(),
        10000 => "macintosh".to_owned(),
        10007 => "x-mac-cyrillic".to_owned(),
        65001 => "utf-8".to_owned(),
        _ => return None,
    };
    Encoding::for_label(name.as_bytes())
}

/// The encoding of a font by its `\fcharset`.
pub(super) fn charset(n: i32) -> Option<&'static Encoding> {
    code_page(match n {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
