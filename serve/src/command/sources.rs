//! `strata sources`: what a memory was made from.

use proto::v1;

use super::place::{OutArgs, PlaceArgs};
use super::{DONE, NOTHING};
use crate::desk::Desk;
use crate::hint::advised;
use crate::print::{Out, source};

/// Sources asked for at once.
const PAGE_SIZE: i32 = 500;
/// Bytes of text asked for at once.
const TEXT_BYTES: u32 = 2 << 20;

const EXAMPLES: &str = "\
Examples:
  strata sources
  strata sources --json | jq .source_key
  strata sources show notes/plan.md";

/// List sources, or show one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    out: OutArgs,
    /// `show` and a source's key or id: print that one with its text
    #[arg(value_names = ["show", "KEY"], num_args = 0..=2)]
    what: Vec<String>,
}

/// Lists or shows.
///
/// # Errors
/// When there is no store or server, or no such source.
pub fn run(args: Args) -> anyhow::Result<u8> {
    match args.what.as_slice() {
        [] => list(&args.place, args.out),
        [show, key] if show == "show" => show_one(&args.place, args.out, key),
        _ => {
            let hint = "strata sources lists all; strata sources show KEY prints one";
            Err(advised(format!("strata sources does not know {:?}", args.what.join(" ")), hint))
        }
    }
}

fn list(place: &PlaceArgs, out: OutArgs) -> anyhow::Result<u8> {
    let mut desk = place.desk()?;
    let mut out = Out::new(out.json);
    let mut page_token = String::new();
    let mut nothing = true;
    loop {
        let page = desk.list(v1::ListSourcesRequest {
            page_size: PAGE_SIZE,
            page_token,
            scope: place.scope()?,
            min_manifest_version: 0,
        })?;
        for listed in &page.sources {
            source::listed(&mut out, listed)?;
            nothing = false;
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    if nothing {
        crate::note!("no sources");
        return Ok(NOTHING);
    }
    Ok(DONE)
}

fn show_one(place: &PlaceArgs, out: OutArgs, key: &str) -> anyhow::Result<u8> {
    let mut desk = place.desk()?;
    let whole = whole(&mut desk, key, place.scope()?)?;
    source::shown(&mut Out::new(out.json), &whole)?;
    Ok(DONE)
}

/// A source with all of its text, however many calls that takes.
fn whole(desk: &mut Desk, key: &str, scope: String) -> anyhow::Result<v1::GetSourceResponse> {
    let mut request = v1::GetSourceRequest {
        source: key.to_owned(),
        view: v1::SourceView::Full.into(),
        offset_bytes: 0,
        limit_bytes: TEXT_BYTES,
        scope,
        min_manifest_version: 0,
    };
    let mut whole = desk.get(request.clone())?;
    loop {
        request.offset_bytes = whole.text.len() as u64;
        if request.offset_bytes >= whole.total_bytes {
            return Ok(whole);
        }
        let more = desk.get(request.clone())?;
        if more.text.is_empty() || more.manifest_version != whole.manifest_version {
            return Err(advised("the source changed while it was read", "try again"));
        }
        whole.text.push_str(&more.text);
        let known = whole.turns.last().map(|turn| turn.id.clone());
        whole.turns.extend(more.turns.into_iter().filter(|turn| Some(&turn.id) != known.as_ref()));
    }
}
