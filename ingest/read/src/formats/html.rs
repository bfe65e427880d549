//! Reads HTML: one page, one Markdown document of its main text.
//!
//! Headings, lists, tables, quotes and code keep their form; of links the words stay. Scripts, styles, navigation,
//! forms and what is hidden are left out, and where the page says which part of it is the main one, all else.
//!
//! Format: HTML, WHATWG, tokenised by `html5gum` (section 13.2.5). No tree is built: pages are nested as deep as
//! someone likes, and the work is one pass over the tokens.

use std::collections::BTreeMap;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

use super::html_text::Writer;
use super::markdown::document;
use super::{Emit, Event, Head, Input, Reader, extension, whole_bytes};
use crate::decode::{Trouble, decode};
use crate::seam::Result;

/// Elements without content.
const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements whose content no one reads.
const UNREAD: &[&str] = &[
    "audio", "button", "canvas", "datalist", "iframe", "noscript", "object", "script", "select", "style", "svg",
    "template", "textarea", "title", "video",
];
/// Elements that lead through a site and say nothing of their own, outside the main text.
const AROUND: &[&str] = &["header", "footer", "aside"];
/// The roles of such elements.
const ROLES: &[&str] = &["navigation", "banner", "contentinfo", "search", "menu", "menubar", "complementary", "dialog"];
/// The classes and ids of such elements, where pages have neither elements nor roles for them.
const CLASSES: &[&str] = &[
    "nav",
    "navbar",
    "navigation",
    "navheader",
    "navfooter",
    "menu",
    "sidebar",
    "sphinxsidebar",
    "breadcrumb",
    "breadcrumbs",
    "footer",
    "skip-link",
    "cookie-banner",
    "visually-hidden",
    "headerlink",
];
/// Elements that are left out for what their attributes say; those whose end may lack are not among them.
const CLOSED: &[&str] = &["a", "div", "dialog", "form", "ol", "section", "span", "table", "ul"];
/// The part that is marked as the main one is taken for it where it has so many bytes, or a quarter of the page's;
/// articles are where they have half of them.
const MAIN_BYTES: usize = 200;

/// A page declares its encoding within so many bytes.
const CHARSET_BYTES: usize = 1024;

/// The reader of HTML.
pub(super) struct Html;

impl Reader for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let start = &head.bytes[..head.bytes.len().min(1024)];
        let start = String::from_utf8_lossy(start).to_lowercase();
        let start = start.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        let is_page = start.starts_with("<!doctype html") || start.starts_with("<html") || start.contains("<html");
        match (extension(head.name).as_str(), is_page && start.starts_with('<')) {
            (_, true) => 90,
            ("html" | "htm" | "xhtml" | "shtml", _) => 85,
            _ => 0,
        }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let decoded = whole_bytes(input).and_then(|bytes| {
            let declared = charset(&bytes);
            decode(bytes, declared.as_deref())
        });
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(trouble) => return emit(Event::Trouble(trouble)),
        };
        let page = page(&decoded.text);
        if page.text.trim().is_empty() {
            return emit(Event::Trouble(Trouble::new(
                "",
                "no text: the page is made by its scripts, or it is empty",
                "save it from a browser as it is shown, and import that",
            )));
        }
        let mut draft = document(page.text, page.title, input.name, decoded.n_replaced);
        draft.metadata.extend(page.metadata);
        draft.metadata.extend(decoded.metadata());
        draft.remarks.extend(decoded.remarks());
        emit(Event::Draft(draft))
    }
}

/// The encoding that a page declares in its first bytes, by a `meta` element or as XML does.
fn charset(bytes: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(CHARSET_BYTES)]).to_lowercase();
    let (_, rest) = start.split_once("charset=").or_else(|| start.split_once("encoding="))?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

/// What a page says.
#[derive(Debug, Default)]
struct Page {
    title: Option<String>,
    metadata: BTreeMap<String, String>,
    text: String,
}

/// Reads a page; where all of it is navigation, or some of that never ends, the navigation is its text.
fn page(html: &str) -> Page {
    let mut walk = Walk::new(true);
    walk.read(html);
    if walk.left_out.is_some() || walk.writer.is_blank() {
        walk = Walk::new(false);
        walk.read(html);
    }
    walk.finish()
}

/// An element that is left out or marked, by its name, with how many of that name are open in it.
struct Open {
    name: String,
    n_inner: u32,
}

impl Open {
    /// Counts a tag; whether the element ends with it.
    fn ends(&mut self, name: &str, is_start: bool) -> bool {
        if name != self.name {
            return false;
        }
        if is_start {
            self.n_inner += 1;
            return false;
        }
        self.n_inner = self.n_inner.saturating_sub(1);
        self.n_inner == 0
    }
}

/// A walk over a page's tokens.
struct Walk {
    /// Whether navigation is left out.
    is_strict: bool,
    writer: Writer,
    page: Page,
    is_title: bool,
    left_out: Option<Open>,
    main: Option<Open>,
    n_articles: u32,
    main_text: String,
    article_text: String,
    /// Where the open part that is marked begins.
    from: usize,
    /// Whether a marked part lies in a table, where it cannot be told from the rest of its cell.
    is_unsure: bool,
}

impl Walk {
    fn new(is_strict: bool) -> Self {
        Self {
            is_strict,
            writer: Writer::default(),
            page: Page::default(),
            is_title: false,
            left_out: None,
            main: None,
            n_articles: 0,
            main_text: String::new(),
            article_text: String::new(),
            from: 0,
            is_unsure: false,
        }
    }

    fn read(&mut self, html: &str) {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(html, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => self.start(&tag),
                Token::EndTag(tag) => self.end(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.words(&String::from_utf8_lossy(&text)),
                _ => {}
            }
        }
        self.writer.flush();
    }

    fn words(&mut self, text: &str) {
        if self.is_title {
            self.page.title.get_or_insert_default().push_str(text);
        } else if self.left_out.is_none() {
            self.writer.words(text);
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some(open) = &mut self.left_out {
            open.ends(name, !tag.self_closing);
            return;
        }
        self.about(name, tag);
        if VOID.contains(&name) {
            return self.writer.void(name);
        }
        if self.is_left_out(name, tag) {
            // The first title is the page's; pictures have titles too.
            self.is_title = name == "title" && self.page.title.is_none();
            if !(tag.self_closing && name == "svg") {
                self.left_out = Some(Open { name: name.to_owned(), n_inner: 1 });
            }
            return;
        }
        if let Some(main) = &mut self.main {
            main.ends(name, true);
        } else if name == "main" || attribute(tag, "role").as_deref() == Some("main") {
            self.mark();
            self.main = Some(Open { name: name.to_owned(), n_inner: 1 });
        }
        if name == "article" {
            self.n_articles += 1;
            if self.n_articles == 1 && self.main.is_none() {
                self.mark();
            }
        }
        self.writer.start(name);
    }

    fn end(&mut self, name: &str) {
        if let Some(open) = &mut self.left_out {
            if open.ends(name, false) {
                self.left_out = None;
                self.is_title = false;
            }
            return;
        }
        self.writer.end(name);
        if name == "article" && self.n_articles > 0 {
            self.n_articles -= 1;
            if self.n_articles == 0 && self.main.is_none() {
                self.is_unsure |= self.writer.is_in_table();
                self.article_text += self.writer.since(self.from);
            }
        }
        if self.main.as_mut().is_some_and(|main| main.ends(name, false)) {
            self.main = None;
            self.is_unsure |= self.writer.is_in_table();
            self.main_text += self.writer.since(self.from);
        }
    }

    /// Notes where a marked part begins.
    fn mark(&mut self) {
        self.is_unsure |= self.writer.is_in_table();
        self.from = self.writer.mark();
    }

    fn is_left_out(&self, name: &str, tag: &StartTag<()>) -> bool {
        if UNREAD.contains(&name) {
            return true;
        }
        let is_main = self.main.is_some() || self.n_articles > 0;
        if !self.is_strict {
            return false;
        }
        if name == "nav" || (AROUND.contains(&name) && !is_main) {
            return true;
        }
        if !CLOSED.contains(&name) {
            return false;
        }
        let is_named = |attribute_name: &str, names: &[&str]| {
            let given = attribute(tag, attribute_name);
            given.is_some_and(|given| given.split_whitespace().any(|word| names.contains(&word)))
        };
        let style = attribute(tag, "style").unwrap_or_default().replace(' ', "");
        attribute(tag, "hidden").is_some()
            || style.contains("display:none")
            || is_named("role", ROLES)
            || is_named("class", CLASSES)
            || is_named("id", CLASSES)
    }

    /// What the page says of itself.
    fn about(&mut self, name: &str, tag: &StartTag<()>) {
        let of = |attribute_name: &str| attribute(tag, attribute_name).unwrap_or_default();
        let (field, value) = match name {
            "html" => ("language", of("lang")),
            "link" if of("rel") == "canonical" => ("url", of("href")),
            "meta" => match (of("name") + &of("property")).to_lowercase().as_str() {
                "author" => ("author", of("content")),
                "description" => ("description", of("content")),
                "og:url" => ("url", of("content")),
                "article:published_time" | "date" | "dc.date" => ("published", of("content")),
                _ => return,
            },
            _ => return,
        };
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if !value.is_empty() {
            self.page.metadata.entry(field.to_owned()).or_insert(value);
        }
    }

    fn finish(mut self) -> Page {
        self.writer.close_tables();
        // A marked part whose end lacks goes on to the end.
        if self.main.is_some() {
            self.main_text += self.writer.since(self.from);
        } else if self.n_articles > 0 {
            self.article_text += self.writer.since(self.from);
        }
        let all = self.writer.finish();
        let (n_main, n_articles) = (self.main_text.trim().len(), self.article_text.trim().len());
        let text = if self.is_unsure {
            all
        } else if n_main > 0 && (n_main >= MAIN_BYTES || n_main * 4 >= all.len()) {
            self.main_text
        } else if n_articles > 0 && n_articles * 2 >= all.len() {
            self.article_text
        } else {
            all
        };
        self.page.text = text.trim_matches('\n').to_owned() + "\n";
        let title = self.page.title.take().map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        self.page.title = title.filter(|title| !title.is_empty());
        self.page
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        page(html).text
    }

    #[test]
    fn what_leads_through_a_site_is_left_out_and_what_is_read_stays() {
        let html = "<!DOCTYPE html><html lang=en><title>Plums &amp; pears</title><meta name=author content=Mira>\
            <body><nav><a href=/>Home</a></nav><div class='x sidebar'>Links<div>more</div></div>\
            <h1>Plums</h1><p>They <b>ripe</b>n\n in <a href=/x>August</a>.<script>var a = '<p>no</p>'</script>\
            <p hidden>Said too.<footer>(c)</footer>";
        assert_eq!(text(html), "# Plums\n\nThey ripen in August.\n\nSaid too.\n");
        let page = page(html);
        assert_eq!(page.title.as_deref(), Some("Plums & pears"));
        assert_eq!((&*page.metadata["author"], &*page.metadata["language"]), ("Mira", "en"));
    }

    #[test]
    fn the_main_part_is_the_text_where_a_page_names_one() {
        let main = "<p>Before.</p><main><header><h1>Plums</h1></header><p>Sweet.</p></main><p>After.</p>";
        assert_eq!(text(main), "# Plums\n\nSweet.\n");
        assert_eq!(text("<p>Before.</p><main></main><p>After.</p>"), "Before.\n\nAfter.\n");
        assert_eq!(text("<div role=main><div>One</div><p>Two</div><p>After.</p>"), "One\n\nTwo\n");
        assert_eq!(text("<article>One</article> <p>x</p><article>Two"), "One\n\nTwo\n");
        assert_eq!(text("<article>One</article><p>Much more than in it"), "One\n\nMuch more than in it\n");
        assert_eq!(text("<p>One</p><table><tr><td>Two<main>Three</main>"), "One\n\nTwo\n\nThree\n");
    }

    #[test]
    fn a_page_declares_its_encoding() {
        assert_eq!(charset(b"<html><META CHARSET='Windows-1251'>").as_deref(), Some("windows-1251"));
        let long = b"<meta http-equiv=Content-Type content=\"text/html; charset=gb2312\">";
        assert_eq!(charset(long).as_deref(), Some("gb2312"));
        assert_eq!(charset(b"<?xml version='1.0' encoding=\"utf-8\"?>").as_deref(), Some("utf-8"));
        assert_eq!(charset(b"<html><title>charset</title>"), None);
    }

    #[test]
    fn navigation_that_never_ends_takes_nothing_with_it() {
        assert_eq!(text("<nav><p>Menu<p>A text that matters."), "Menu\n\nA text that matters.\n");
        assert_eq!(text("<nav>All of it</nav>"), "All of it\n");
    }

    #[test]
    fn deep_nesting_is_read() {
        for tag in ["div", "ul><li", "blockquote", "table><tr><td", "main", "nav"] {
            let html = format!("{}deep", format!("<{tag}>").repeat(20_000));
            assert_eq!(text(&html).matches("deep").count(), 1);
        }
    }

    proptest! {
        #[test]
        fn any_page_is_read_without_panic(
            html in "(</?(p|ul|ol|li|table|tr|td|pre|h2|main|article|nav|blockquote|br|title)>|\\PC{0,4}|\n){0,40}",
        ) {
            let _ = text(&html);
        }
    }
}
