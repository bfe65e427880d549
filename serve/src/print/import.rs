//! What an import did, for people. Programs get the report itself.

use std::io;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use ingest::{Report, Survey};

use super::{Out, harmless};

/// How many entries of a list people are shown; programs get all.
const SHOWN_MAX: usize = 20;
/// How many authors people are shown.
const AUTHORS_SHOWN: usize = 8;
/// Where the rest of a list is.
const MORE: &str = "--json lists the first 10000, --ledger FILE all";

/// Prints the report of an import.
///
/// # Errors
/// When stdout is gone.
pub fn report(out: &mut Out, report: &Report) -> io::Result<()> {
    let done = if report.dry_run { "would import" } else { "imported" };
    for source in report.imported.iter().take(SHOWN_MAX) {
        let turns = if source.turns > 0 { format!(", {} turns", source.turns) } else { String::new() };
        let size = if report.dry_run {
            String::new()
        } else {
            format!(", {} sentences, {} chunks", source.sentences, source.chunks)
        };
        out.line(format!("{done}  {}  {}{turns}{size}", out.bold(&harmless(&source.key)), source.kind,))?;
        for remark in &source.remarks {
            out.line(format!("    {}", harmless(remark)))?;
        }
    }
    more(out, report.totals.sources)?;
    for deleted in report.deleted.iter().take(SHOWN_MAX) {
        out.line(format!("removed  {}", harmless(&deleted.key)))?;
    }
    more(out, report.totals.deleted)?;
    formats(out, report)?;
    if let Some(found) = &report.survey {
        survey(out, found)?;
    }
    let totals = &report.totals;
    if report.dry_run {
        return out.line(format!(
            "dry run of {} files: {} sources would be stored; {} unchanged",
            totals.files, totals.sources, totals.unchanged,
        ));
    }
    out.line(format!(
        "done of {} files on {}: {} sources, {} sentences ({} embedded, {} known), {} chunks, {} edges; {} unchanged",
        totals.files,
        report.device,
        totals.sources,
        totals.sentences,
        totals.embedded,
        totals.cached,
        totals.chunks,
        totals.edges,
        totals.unchanged,
    ))
}

/// One line a format: what it gave and what became of it.
fn formats(out: &mut Out, report: &Report) -> io::Result<()> {
    let done = if report.dry_run { "to store" } else { "stored" };
    for (name, format) in &report.formats {
        let turns = if format.turns > 0 { format!(" with {} turns", format.turns) } else { String::new() };
        out.line(format!(
            "{}  {} files, {} sources found{turns}: {} {done}, {} unchanged, {} records skipped",
            out.bold(name),
            format.files,
            format.found,
            format.stored,
            format.unchanged,
            format.skipped,
        ))?;
    }
    match report.totals.asides {
        0 => Ok(()),
        n => out.line(format!("{n} attachments and indexes of archives hold no text")),
    }
}

/// What a rehearsal found in all that it read.
fn survey(out: &mut Out, survey: &Survey) -> io::Result<()> {
    if let (Some(first), Some(last)) = (&survey.first, &survey.last) {
        let untimed =
            if survey.untimed > 0 { format!("; {} turns without a time", survey.untimed) } else { String::new() };
        out.line(format!("from {first} to {last}{untimed}"))?;
    }
    if survey.n_authors > 0 {
        let named: Vec<String> =
            survey.authors.iter().take(AUTHORS_SHOWN).map(|a| format!("{} ({})", harmless(&a.name), a.turns)).collect();
        let rest = survey.n_authors.saturating_sub(named.len() as u64);
        let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
        out.line(format!("authors: {}{more}", named.join(", ")))?;
    }
    out.line(format!(
        "about {} sentences in {}; embedding them takes about {} here",
        survey.sentences,
        HumanBytes(survey.text_bytes),
        HumanDuration(Duration::from_secs_f64(survey.seconds.clamp(0.0, 1e9))),
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
    let shown = SHOWN_MAX as u64;
    let hidden = report.totals.skipped.saturating_sub(shown) + report.totals.refused.saturating_sub(shown);
    if hidden > 0 {
        crate::note!("… and {hidden} more; {MORE}");
    }
    let n_secrets: u64 = report.secrets.kinds.values().sum();
    if n_secrets > 0 {
        let kinds: Vec<String> = report.secrets.kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        let done = match report.secrets.done.as_str() {
            "redact" => "each has a mark in its place",
            "skip" => "the turns and documents that have one were left out",
            _ if report.dry_run => "they would be stored as they are",
            _ => "stored as they are",
        };
        crate::note!("{n_secrets} secrets ({}): {done}", kinds.join(", "));
        if report.secrets.done == "allow" {
            crate::note!("hint: --secrets redact puts a mark in their place, --secrets skip leaves them out");
        }
    }
    for name in &report.me_unmet {
        crate::note!("no turn is by {}: --me takes names as the archives write them", harmless(name));
    }
    let found = report.n_found();
    if found > 0 && report.totals.sources + report.totals.unchanged == 0 {
        crate::note!("found {found} sources, stored none of them");
    }
}

fn more(out: &mut Out, n: u64) -> io::Result<()> {
    match n.checked_sub(SHOWN_MAX as u64) {
        Some(hidden) if hidden > 0 => out.line(format!("… and {hidden} more; {MORE}")),
        _ => Ok(()),
    }
}
