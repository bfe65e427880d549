//! One Slack message: who says it, when, what, and in which thread.
//!
//! Its words are as a reader sees them: people and channels by name, links with their labels, the three
//! escaped characters as they are. A reply names the message that began its thread, whether or not that
//! is still there. Of a message that was edited the last words count; a deleted one has none.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use model::{Role, Timestamp};
use regex::{Captures, Regex};

use super::said::{Conversation, Said};
use crate::json::{Value, array, field, text};

#[expect(clippy::unwrap_used, reason = "a constant pattern, tried by every test here")]
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<(?:(?<sigil>[@#!])(?<name>[^<>|]+)|(?<link>[a-zA-Z][\w+.-]*:[^<>|\s]+))(?:\|(?<label>[^<>]*))?>")
        .unwrap()
});

/// Kinds of messages in which someone speaks; any other is an event of the channel.
const SPOKEN: &[&str] =
    &["bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "reply_broadcast"];

/// The names of a workspace's people, by id.
#[derive(Debug, Default)]
pub(super) struct Users {
    names: HashMap<String, String>,
}

impl Users {
    /// Takes a person from a list.
    pub fn add(&mut self, user: &Value<'_>) {
        if let (Some(id), Some(name)) = (text(field(user, "id")), called(user)) {
            self.names.insert(id.to_owned(), name.to_owned());
        }
    }

    /// How the person with this id is called; the id where no list knows it.
    pub fn name(&self, id: &str) -> String {
        match self.names.get(id) {
            Some(name) => name.clone(),
            None if id == "USLACKBOT" => "Slackbot".to_owned(),
            None => id.to_owned(),
        }
    }
}

/// The name a person chose, else the real one, else the account's.
fn called<'v>(user: &'v Value<'v>) -> Option<&'v str> {
    let profile = field(user, "profile");
    [field(profile, "display_name"), field(user, "real_name"), field(profile, "real_name"), field(user, "name")]
        .into_iter()
        .find_map(|name| text(name).map(str::trim).filter(|name| !name.is_empty()))
}

/// Says a message, with what a later event made of it.
pub(super) fn say(message: &Value<'_>, users: &Users, chat: &mut Conversation) {
    let subtype = text(field(message, "subtype")).unwrap_or_default();
    match subtype {
        "message_changed" => return say(field(message, "message"), users, chat),
        "message_deleted" => {
            let ts =
                text(field(message, "deleted_ts")).or_else(|| text(field(field(message, "previous_message"), "ts")));
            return said(field(message, "previous_message"), ts, true, users, chat);
        }
        _ => {}
    }
    said(message, text(field(message, "ts")), subtype == "tombstone", users, chat);
}

fn said(message: &Value<'_>, ts: Option<&str>, is_deleted: bool, users: &Users, chat: &mut Conversation) {
    if *message == Value::Null && ts.is_none() {
        return;
    }
    let given = |name: &str| text(field(message, name));
    let subtype = given("subtype").unwrap_or_default();
    let is_event = !(subtype.is_empty() || is_deleted || SPOKEN.contains(&subtype));
    let thread = given("thread_ts").filter(|thread| Some(*thread) != ts);
    let mut metadata = BTreeMap::new();
    let mut note = |name: &str, value: Option<&str>| {
        metadata.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    };
    note("thread", thread);
    note("user", given("user").or_else(|| given("bot_id")));
    note("bot", (given("bot_id").is_some() || subtype == "bot_message").then_some("true"));
    note("action", is_event.then_some(subtype));
    note("edited", text(field(field(message, "edited"), "ts")));
    note("deleted", is_deleted.then_some("true"));
    let files = array(field(message, "files")).iter();
    let files: Vec<&str> =
        files.filter_map(|file| text(field(file, "name")).or_else(|| text(field(file, "title")))).collect();
    note("attachments", (!files.is_empty()).then(|| files.join("\n")).as_deref());
    chat.say(Said {
        id: ts,
        author: &author(message, users),
        role: Some(if is_event { Role::System } else { Role::Unknown }),
        at: ts.and_then(moment),
        reply_to: thread.map(str::to_owned),
        text: &if is_deleted { String::new() } else { words(message, users) },
        metadata,
        ..Said::default()
    });
}

fn author(message: &Value<'_>, users: &Users) -> String {
    let profile = field(message, "user_profile");
    let known = text(field(message, "user")).map(|id| (id, users.name(id)));
    match known {
        Some((id, name)) if name != id => name,
        Some((id, _)) => called(profile).or_else(|| text(field(profile, "name"))).unwrap_or(id).to_owned(),
        None => {
            let bot = field(message, "bot_profile");
            let names = [field(message, "username"), field(bot, "name"), field(message, "bot_id")];
            names.into_iter().find_map(text).unwrap_or_default().to_owned()
        }
    }
}

/// The words of a message; where it has none, those of what a bot attached or built.
fn words(message: &Value<'_>, users: &Users) -> String {
    if let Some(words) = text(field(message, "text")) {
        return plain(words, users);
    }
    let mut words: Vec<String> = Vec::new();
    for attachment in array(field(message, "attachments")) {
        let given = ["pretext", "title", "text"].into_iter().filter_map(|name| text(field(attachment, name)));
        let mut given: Vec<&str> = given.collect();
        if given.is_empty() {
            given.extend(text(field(attachment, "fallback")));
        }
        words.extend(given.into_iter().map(|text| plain(text, users)));
    }
    for block in array(field(message, "blocks")) {
        words.extend(text(field(field(block, "text"), "text")).map(|text| plain(text, users)));
    }
    words.join("\n")
}

/// A text with its marks written out: `<@U1>` as `@Ana`, `<https://x|label>` as `label (https://x)`.
fn plain(marked: &str, users: &Users) -> String {
    let written = MARK.replace_all(marked, |mark: &Captures<'_>| {
        let given = |name: &str| mark.name(name).map(|given| given.as_str()).filter(|given| !given.is_empty());
        let (label, name) = (given("label"), given("name").unwrap_or_default());
        match given("sigil") {
            Some("@") => format!("@{}", label.map_or_else(|| users.name(name), str::to_owned)),
            Some("#") => format!("#{}", label.unwrap_or(name)),
            Some(_) => label.map_or_else(|| format!("@{name}"), str::to_owned),
            None => {
                let link = given("link").unwrap_or_default();
                label
                    .filter(|label| *label != link)
                    .map_or_else(|| link.to_owned(), |label| format!("{label} ({link})"))
            }
        }
    });
    written.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// A moment as Slack writes it: seconds and microseconds, exactly.
fn moment(ts: &str) -> Option<Timestamp> {
    let (seconds, rest) = ts.split_once('.').unwrap_or((ts, "0"));
    let micros = format!("{:0<6}", rest.get(..rest.len().min(6))?);
    let micros = seconds.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)?;
    Some(Timestamp::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_written_out() {
        let users = Users { names: HashMap::from([("U1".to_owned(), "Ana".to_owned())]) };
        for (marked, expected) in [
            ("<@U1> and <@U2>, <@U3|bo>", "@Ana and @U2, @bo"),
            ("<#C1|general> <!here> <!subteam^S1|@crew>", "#general @here @crew"),
            ("<https://x.org> <https://x.org|the page>", "https://x.org the page (https://x.org)"),
            ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ] {
            assert_eq!(plain(marked, &users), expected);
        }
    }

    #[test]
    fn moments_are_exact() {
        assert_eq!(moment("1736478514.897649").unwrap().as_micros(), 1_736_478_514_897_649);
        assert_eq!(moment("1736478514.8").unwrap().as_micros(), 1_736_478_514_800_000);
        assert_eq!(moment("1736478514").unwrap().as_micros(), 1_736_478_514_000_000);
        assert_eq!((moment("soon"), moment("1.é")), (None, None));
    }
}
