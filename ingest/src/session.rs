//! Turns to sessions: the archive's own, or a new one after a long silence.

use read::DraftTurn;

/// A silence longer than this ends a session: 4 hours, in microseconds.
pub(crate) const SESSION_GAP_US: i64 = 4 * 3600 * 1_000_000;

/// The session of each turn, from 0, never falling.
///
/// An archive with sessions keeps them; a turn without one stays in the session before it. Else only
/// known times count: a turn without one belongs to the session before it.
pub(crate) fn assign(turns: &[DraftTurn]) -> Vec<u32> {
    if turns.iter().any(|turn| turn.session.is_some()) {
        let mut current = 0;
        return turns
            .iter()
            .map(|turn| {
                current = turn.session.map_or(current, |session| session.max(current));
                current
            })
            .collect();
    }
    let mut current = 0;
    let mut last_us: Option<i64> = None;
    turns
        .iter()
        .map(|turn| {
            if let Some(at) = turn.said_at {
                let at_us = at.as_micros();
                if last_us.is_some_and(|last| at_us.saturating_sub(last) > SESSION_GAP_US) {
                    current += 1;
                }
                // Exports may hold an edited turn out of order: the latest time seen counts.
                last_us = Some(last_us.map_or(at_us, |last| last.max(at_us)));
            }
            current
        })
        .collect()
}
