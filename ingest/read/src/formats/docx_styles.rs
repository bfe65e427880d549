//! What a DOCX file says of its paragraphs' looks: which are headings, which are items of lists.

use std::collections::HashMap;

use super::package::Package;
use super::xml::Tag;
use crate::decode::Trouble;

/// Styles are based on styles at most so deep.
const BASED_ON_MAX: usize = 32;
/// The outline level of body text.
const OUTLINE_BODY: u8 = 9;
/// Names of headings in programs that translate them, in lower case; a number follows.
const HEADING_NAMES: &[&str] = &[
    "heading",
    "überschrift",
    "titre",
    "título",
    "titulo",
    "encabezado",
    "titolo",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "nagłówek",
    "nadpis",
    "címsor",
    "başlık",
    "заголовок",
    "επικεφαλίδα",
    "見出し",
    "标题",
    "標題",
    "제목",
];

/// A place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Numbered {
    /// The list.
    pub num: u32,
    /// How deep, from 0.
    pub level: u8,
}

/// How the items of a level are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A bullet.
    Bullet,
    /// A number; the first one.
    Number(u32),
    /// Nothing.
    None,
}

#[derive(Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    num: Option<u32>,
    level: Option<u8>,
}

/// The styles and lists of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
    abstract_of: HashMap<u32, u32>,
    levels: HashMap<(u32, u8), Marker>,
}

impl Styles {
    /// Reads the entries `styles` and `numbering`, as far as they are there.
    pub fn read(&mut self, package: &Package, styles: &str, numbering: &str) -> Vec<Trouble> {
        let mut current = String::new();
        let read_styles = package.each_tag(styles, |path, tag| {
            if tag.name == "style" {
                current = tag.get("styleId").unwrap_or("").to_owned();
                self.styles.entry(current.clone()).or_default();
                return;
            }
            let Some(style) = self.styles.get_mut(&current) else { return };
            let value = tag.get("val").unwrap_or("");
            match (path.last().map_or("", String::as_str), tag.name.as_str()) {
                ("style", "name") => style.name = value.to_lowercase(),
                ("style", "basedOn") => style.based_on = Some(value.to_owned()),
                ("pPr", "outlineLvl") => style.outline = value.parse().ok(),
                ("numPr", "numId") => style.num = value.parse().ok(),
                ("numPr", "ilvl") => style.level = value.parse().ok(),
                _ => {}
            }
        });
        let mut list = 0;
        let mut level = 0;
        let mut start = 1;
        let read_lists = package.each_tag(numbering, |path, tag| {
            let of = |name: &str| tag.get(name).and_then(|value| value.parse::<u32>().ok());
            let within = |name: &str| path.iter().any(|outer| outer == name);
            match tag.name.as_str() {
                "abstractNum" => list = of("abstractNumId").unwrap_or(0),
                "num" => list = of("numId").unwrap_or(0),
                "abstractNumId" if within("num") => {
                    self.abstract_of.insert(list, of("val").unwrap_or(0));
                }
                "lvl" if within("abstractNum") => (level, start) = (of("ilvl").unwrap_or(0), 1),
                "start" if within("abstractNum") => start = of("val").unwrap_or(1),
                "numFmt" if within("abstractNum") => self.level(list, level, start, tag),
                _ => {}
            }
        });
        [read_styles, read_lists].into_iter().filter_map(Result::err).collect()
    }

    fn level(&mut self, list: u32, level: u32, start: u32, format: &Tag) {
        let marker = match format.get("val") {
            Some("bullet") => Marker::Bullet,
            Some("none") => Marker::None,
            _ => Marker::Number(start),
        };
        if let Ok(level) = u8::try_from(level) {
            self.levels.entry((list, level)).or_insert(marker);
        }
    }

    /// The level of the heading, from 1, that a paragraph of `style` is; `outline` is what it says of itself.
    pub fn heading(&self, style: &str, outline: Option<u8>) -> Option<u8> {
        let level = match outline {
            Some(outline) => (outline < OUTLINE_BODY).then_some(outline + 1),
            None => self.chain(style).find_map(|(id, style)| match style.and_then(|style| style.outline) {
                Some(outline) => Some((outline < OUTLINE_BODY).then_some(outline + 1)),
                None => heading_name(style.map_or("", |style| &style.name), id).map(Some),
            })?,
        };
        level.map(|level| level.min(6))
    }

    /// Whether a paragraph of `style` is quoted.
    pub fn is_quote(&self, style: &str) -> bool {
        let names = ["quote", "intense quote", "quotations", "block text"];
        self.chain(style).any(|(_, style)| style.is_some_and(|style| names.contains(&style.name.as_str())))
    }

    /// Where in a list a paragraph of `style` is that says `num` and `level` of itself, and how it is marked.
    pub fn item(&self, style: &str, num: Option<u32>, level: Option<u8>) -> Option<(Numbered, Marker)> {
        let of_style = |take: &dyn Fn(&Style) -> Option<u32>| self.chain(style).find_map(|(_, style)| take(style?));
        let num = num.or_else(|| of_style(&|style| style.num)).filter(|num| *num != 0)?;
        let level = level.or_else(|| of_style(&|style| style.level.map(u32::from)).and_then(|l| u8::try_from(l).ok()));
        let level = level.unwrap_or(0);
        let list = self.abstract_of.get(&num).copied().unwrap_or(u32::MAX);
        let marker = self.levels.get(&(list, level)).copied().unwrap_or(Marker::Bullet);
        (marker != Marker::None).then_some((Numbered { num, level }, marker))
    }

    /// A style and those that it is based on.
    fn chain<'a>(&'a self, style: &'a str) -> impl Iterator<Item = (&'a str, Option<&'a Style>)> {
        let mut next = (!style.is_empty()).then_some(style);
        std::iter::from_fn(move || {
            let id = next?;
            let style = self.styles.get(id);
            next = style.and_then(|style| style.based_on.as_deref());
            Some((id, style))
        })
        .take(BASED_ON_MAX)
    }
}

/// The level of the heading that a style is by its name in lower case, or its id.
pub(super) fn heading_name(name: &str, id: &str) -> Option<u8> {
    if name == "title" || (name.is_empty() && id.eq_ignore_ascii_case("title")) {
        return Some(1);
    }
    let id = id.to_lowercase();
    [name, id.as_str()].into_iter().find_map(|name| {
        let rest = HEADING_NAMES.iter().find_map(|heading| name.strip_prefix(heading))?;
        rest.trim().parse::<u8>().ok().filter(|level| (1..=9).contains(level))
    })
}
