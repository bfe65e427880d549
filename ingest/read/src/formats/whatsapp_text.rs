//! What a WhatsApp text is: words, an attachment, an event, or what was deleted.
//!
//! WhatsApp writes these in the phone's language; here are the ones we know. What is not known is words.

use std::sync::LazyLock;

use regex::Regex;

use super::whatsapp_line::strip_marks;

/// What was said, or shown in its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The words, without what WhatsApp adds.
    pub words: String,
    /// The attachment's name, or that there was one.
    pub attachment: Option<String>,
    /// It was deleted.
    pub is_deleted: bool,
    /// It was edited.
    pub is_edited: bool,
    /// It is not said by anyone but by WhatsApp itself.
    pub is_event: bool,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    // Android: `IMG.jpg (file attached)`; iOS: `<attached: IMG.jpg>`.
    let m = r"[\u{200e}\u{200f}\u{202a}-\u{202e}]*";
    Regex::new(&format!(
        r"^{m}(?:(?<android>\S[^\n<>:]{{0,120}}\.\w{{2,5}}) {m}\((?<said>[^()\n]{{2,40}})\)|<[\p{{L}} ]{{3,30}}: ?(?<ios>[^<>\n]{{1,160}}\.\w{{2,5}})>){m}(?:\r?\n|$)"
    ))
    .unwrap()
});

/// What Android writes behind the name of an attachment.
const ATTACHED: &[&str] = &[
    "file attached",
    "datei angehängt",
    "archivo adjunto",
    "arquivo anexado",
    "ficheiro anexado",
    "fichier joint",
    "file allegato",
    "bestand bijgevoegd",
    "файл добавлен",
    "bifogad fil",
    "vedhæftet fil",
    "plik dołączony",
    "附件",
    "添付ファイル",
    "첨부 파일",
    "الملف مرفق",
];
/// In place of an attachment that was left out, on Android in `<…>`.
const OMITTED_ANDROID: &[&str] = &[
    "media omitted",
    "medien ausgeschlossen",
    "multimedia omitido",
    "archivo omitido",
    "mídia oculta",
    "arquivo de mídia oculto",
    "médias omis",
    "fichier omis",
    "media omessi",
    "media weggelaten",
    "без медиафайлов",
    "файл пропущен",
    "media utelämnat",
    "省略多媒体文件",
    "媒体内容已省略",
    "メディアは含まれていません",
    "미디어파일을 생략한 대화내용",
    "تم استبعاد الوسائط",
];
/// The ends of what stands in place of an attachment on iOS: `image omitted`.
const OMITTED_IOS: &[&str] = &[
    " omitted",
    " weggelassen",
    " omitida",
    " omitido",
    " oculta",
    " ocultado",
    " absente",
    " absent",
    " omis",
    " omise",
    " omessa",
    " omesso",
    " weggelaten",
    " пропущено",
    "忽略",
    "省略",
];
/// What stands in place of a deleted message.
const DELETED: &[&str] = &[
    "this message was deleted",
    "you deleted this message",
    "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht",
    "se eliminó este mensaje",
    "eliminaste este mensaje",
    "este mensaje fue eliminado",
    "esta mensagem foi apagada",
    "mensagem apagada",
    "você apagou esta mensagem",
    "ce message a été supprimé",
    "vous avez supprimé ce message",
    "questo messaggio è stato eliminato",
    "hai eliminato questo messaggio",
    "dit bericht is verwijderd",
    "u hebt dit bericht verwijderd",
    "данное сообщение удалено",
    "вы удалили данное сообщение",
    "此消息已删除",
    "此訊息已刪除",
    "このメッセージは削除されました",
    "삭제된 메시지입니다",
    "تم حذف هذه الرسالة",
];
/// What WhatsApp says of a chat as if someone in it did.
const NOTICES: &[&str] = &[
    "end-to-end encrypted",
    "end-to-end-encrypted",
    "ende-zu-ende-verschlüsselt",
    "cifrados de extremo a extremo",
    "cifradas de extremo a extremo",
    "criptografia de ponta a ponta",
    "chiffrés de bout en bout",
    "crittografati end-to-end",
    "end-to-end versleuteld",
    "сквозным шифрованием",
    "端到端加密",
    "エンドツーエンド",
    "종단간 암호화",
    "مشفرة تمامًا بين الطرفين",
];
/// What is added to an edited message.
const EDITED: &[&str] = &[
    "<This message was edited>",
    "<Diese Nachricht wurde bearbeitet.>",
    "<Se editó este mensaje.>",
    "<Mensagem editada>",
    "<Ce message a été modifié>",
    "<Questo messaggio è stato modificato>",
    "<Dit bericht is bewerkt>",
];
/// A notice is not longer than this.
const NOTICE_CHARS_MAX: usize = 400;

/// What `text` is; without an author it is an event.
pub(super) fn content(text: &str, has_author: bool) -> Content {
    let bare = strip_marks(text.trim());
    let lower = bare.to_lowercase();
    let is_notice = lower.chars().count() <= NOTICE_CHARS_MAX && NOTICES.iter().any(|notice| lower.contains(notice));
    if !has_author || is_notice {
        return Content { words: bare.to_owned(), is_event: true, ..Content::default() };
    }
    let sentence = lower.trim_end_matches(['.', '。', '!']);
    if DELETED.contains(&sentence) {
        return Content { is_deleted: true, ..Content::default() };
    }
    let edited = EDITED.iter().find_map(|mark| bare.strip_suffix(mark));
    let is_edited = edited.is_some();
    let words = edited.map_or(bare, |words| strip_marks(words.trim_end()).trim_end());
    // Android marks its own words too; where a tool dropped the mark, the words themselves must be known.
    let is_own = |said: &str| text.contains('\u{200e}') || ATTACHED.contains(&said.to_lowercase().as_str());
    let named = NAMED.captures(words).filter(|found| found.name("said").is_none_or(|said| is_own(said.as_str())));
    if let Some(found) = named {
        let name = found.name("android").or_else(|| found.name("ios")).map(|name| name.as_str().to_owned());
        let caption = words[found.get(0).map_or(0, |found| found.end())..].to_owned();
        return Content { words: caption, attachment: name, is_edited, ..Content::default() };
    }
    if is_omitted(text, &lower) {
        return Content { attachment: Some(bare.to_owned()), is_edited, ..Content::default() };
    }
    Content { words: words.to_owned(), is_edited, ..Content::default() }
}

/// Whether a text stands in place of an attachment that was left out of the export.
fn is_omitted(text: &str, lower: &str) -> bool {
    if let Some(inner) = lower.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
        return OMITTED_ANDROID.contains(&inner.trim());
    }
    // iOS puts a mark before its own words, so that "dessert omitted" stays what someone said.
    let is_marked = text.contains('\u{200e}') || IOS_PLAIN.contains(&lower);
    let is_short = lower.chars().count() <= 120 && !lower.contains('\n');
    is_marked && is_short && OMITTED_IOS.iter().any(|end| lower.ends_with(end))
}

/// What iOS writes for attachments, where a tool dropped the mark before it.
const IOS_PLAIN: &[&str] = &[
    "image omitted",
    "video omitted",
    "audio omitted",
    "sticker omitted",
    "gif omitted",
    "document omitted",
    "contact card omitted",
    "bild weggelassen",
    "video weggelassen",
    "audio weggelassen",
    "sticker weggelassen",
    "dokument weggelassen",
    "gif weggelassen",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = content(text, true);
        let mut parts = vec![found.words.clone()];
        parts.extend(found.attachment.map(|name| format!("[{name}]")));
        for (name, is) in [("deleted", found.is_deleted), ("edited", found.is_edited), ("event", found.is_event)] {
            parts.extend(is.then(|| name.to_owned()));
        }
        assert_eq!(parts.join(" "), expected, "{text:?}");
    }

    #[test]
    fn attachments_are_told_from_words() {
        check("IMG-1.jpg (file attached)\nthe harbour", "the harbour [IMG-1.jpg]");
        check("\u{200e}<attached: 0001-AUDIO.opus>", " [0001-AUDIO.opus]");
        check("\u{200e}<Anhang: 0001-PHOTO.jpg>", " [0001-PHOTO.jpg]");
        check("<Media omitted>", " [<Media omitted>]");
        check("\u{200e}image omitted", " [image omitted]");
        check("plan.pdf • 3 pages \u{200e}document omitted", " [plan.pdf • 3 pages \u{200e}document omitted]");
        check("one word was omitted", "one word was omitted");
        check("see notes.txt (the old one)", "see notes.txt (the old one)");
        check("<b>bold</b>", "<b>bold</b>");
    }

    #[test]
    fn deleted_edited_and_notices_are_told() {
        check("This message was deleted.", " deleted");
        check("\u{200e}Diese Nachricht wurde gelöscht.", " deleted");
        check("she said: this message was deleted", "she said: this message was deleted");
        check("at five \u{200e}<This message was edited>", "at five edited");
        check(
            "Messages and calls are end-to-end encrypted. Tap to learn more.",
            "Messages and calls are end-to-end encrypted. Tap to learn more. event",
        );
        assert!(content("Ana left", false).is_event);
    }
}
