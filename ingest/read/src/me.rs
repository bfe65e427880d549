//! Which turns are those of the person whose archive it is, by the names given with `--me`.

use std::collections::BTreeSet;

use model::Role;

use crate::seam::{Draft, DraftBody};

/// Marks the turns by one of `names` with role user and `is_me`; which of the names were met, by their place.
///
/// A name is one an archive shows, an id or a mail address; case and white space around it do not count. A turn of an
/// assistant, a tool or the system is nobody's own.
pub fn me(names: &[String], draft: &mut Draft) -> BTreeSet<usize> {
    let wanted: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let mut met = BTreeSet::new();
    let DraftBody::Turns(turns) = &mut draft.body else { return met };
    for turn in turns.iter_mut().filter(|turn| matches!(turn.role, Role::User | Role::Unknown)) {
        let ids = ["author_id", "from", "user"].iter().filter_map(|name| turn.metadata.get(*name));
        let said_by: Vec<String> = ids.chain([&turn.author]).flat_map(|name| aliases(name)).collect();
        if let Some(idx) = wanted.iter().position(|name| !name.is_empty() && said_by.contains(name)) {
            met.insert(idx);
            turn.role = Role::User;
            turn.metadata.insert("is_me".to_owned(), "true".to_owned());
        }
    }
    met
}

fn plain(name: &str) -> String {
    name.trim().trim_start_matches('@').to_lowercase()
}

/// A name as a whole, and the two halves of `Ana <ana@example.org>`.
fn aliases(name: &str) -> Vec<String> {
    let mut out = vec![plain(name)];
    if let Some((shown, address)) = name.split_once('<') {
        out.push(plain(shown.trim().trim_matches('"')));
        out.push(plain(address.trim_end().trim_end_matches('>')));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{SourceKind, TimeOrigin};

    use super::*;
    use crate::seam::DraftTurn;

    fn turn(author: &str, role: Role) -> DraftTurn {
        DraftTurn {
            id: author.to_owned(),
            author: author.to_owned(),
            role,
            said_at: None,
            origin: TimeOrigin::Unknown,
            reply_to: None,
            session: None,
            text: "hi".to_owned(),
            metadata: BTreeMap::new(),
        }
    }

    #[test]
    fn a_person_is_known_by_name_or_address_and_an_assistant_is_nobody() {
        let authors = [("Ana Lim", Role::Unknown), ("Bo <bo@x.org>", Role::Unknown), ("Ana Lim", Role::Assistant)];
        let turns = authors.map(|(author, role)| turn(author, role)).to_vec();
        let mut draft = Draft::new("t", SourceKind::Conversation, DraftBody::Turns(turns));
        let names = ["ana lim", "nobody", "BO@x.org"].map(str::to_owned);
        assert_eq!(me(&names, &mut draft), BTreeSet::from([0, 2]));
        let DraftBody::Turns(turns) = draft.body else { panic!() };
        assert_eq!(turns.iter().map(|turn| turn.role).collect::<Vec<_>>(), [Role::User, Role::User, Role::Assistant]);
        assert_eq!(turns.iter().filter(|turn| turn.metadata.contains_key("is_me")).count(), 2);
    }
}
