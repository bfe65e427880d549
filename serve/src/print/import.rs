//! What an import did, for people. Programs get the report itself.

use std::io;

use ingest::Report;

use super::{Out, harmless};

/// How many entries of a list people are shown; programs get all.
const SHOWN_MAX: usize = 20;

/// Prints the report of an import.
///
/// # Errors
/// When stdout is gone.
pub fn report(out: &mut Out, report: &Report) -> io::Result<()> {
    let done = if report.dry_run { "would import" } else { "imported" };
    for source in report.imported.iter().take(SHOWN_MAX) {
        let turns = if source.turns > 0 { format!("{} turns, ", source.turns) } else { String::new() };
        out.line(format!(
            "{done}  {}  {}, {turns}{} sentences, {} chunks",
            out.bold(&harmless(&source.key)),
            source.kind,
            source.sentences,
            source.chunks,
        ))?;
    }
    more(out, report.imported.len())?;
    for deleted in report.deleted.iter().take(SHOWN_MAX) {
        out.line(format!("removed  {}", harmless(&deleted.key)))?;
    }
    more(out, report.deleted.len())?;
    let totals = &report.totals;
    out.line(format!(
        "{} of {} files on {}: {} sources, {} sentences ({} embedded, {} known), {} chunks, {} edges; {} unchanged",
        if report.dry_run { "dry run" } else { "done" },
        totals.files,
        report.device,
        totals.sources,
        totals.sentences,
        totals.embedded,
        totals.cached,
        totals.chunks,
        totals.edges,
        report.unchanged.len(),
    ))
}

/// Says on stderr what was left out and what would help.
pub fn left_out(report: &Report) {
    for skipped in report.skipped.iter().take(SHOWN_MAX) {
        let place = if skipped.place.is_empty() { String::new() } else { format!(" at {}", skipped.place) };
        crate::note!("skipped {}{place}: {}", harmless(&skipped.file), harmless(&skipped.reason));
        if !skipped.hint.is_empty() {
            crate::note!("hint: {}", skipped.hint);
        }
    }
    for refused in report.refused.iter().take(SHOWN_MAX) {
        crate::note!("refused {}: it was deleted", harmless(&refused.key));
        if !refused.hint.is_empty() {
            crate::note!("hint: {}", refused.hint);
        }
    }
    let hidden = report.skipped.len().saturating_sub(SHOWN_MAX) + report.refused.len().saturating_sub(SHOWN_MAX);
    if hidden > 0 {
        crate::note!("… and {hidden} more; --json lists all");
    }
}

fn more(out: &mut Out, n: usize) -> io::Result<()> {
    match n.checked_sub(SHOWN_MAX) {
        Some(hidden) if hidden > 0 => out.line(format!("… and {hidden} more; --json lists all")),
        _ => Ok(()),
    }
}
