//! `strata walk`: the chunks that lead on from some chunks.

use proto::v1;

use super::place::{OutArgs, PlaceArgs};
use super::{DONE, NOTHING};
use crate::print::{Out, hit};

const EXAMPLES: &str = "\
Examples:
  strata walk --from 0123456789abcdef0123456789abcdef
  strata walk --from ID --hops 3 --kind entity --kind next -k 20

A chunk's id stands under each hit of strata search";

/// Walk along the edges between chunks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// A chunk to start at; may be repeated
    #[arg(long, value_name = "CHUNK_ID", required = true)]
    from: Vec<String>,
    /// The most edges on a path
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=6))]
    hops: u32,
    /// The most chunks to print
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    k: u32,
    /// Only edges of this kind; may be repeated
    #[arg(long = "kind", value_enum, value_name = "KIND")]
    kinds: Vec<Kind>,
    #[command(flatten)]
    out: OutArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    /// The next chunk of the source
    Next,
    /// About the same, in one source
    Similar,
    /// Names the same thing
    Entity,
    /// About the same, in two sources
    CrossSource,
    /// Cut from one topic
    SameCommunity,
}

impl Kind {
    fn on_wire(self) -> v1::EdgeKind {
        match self {
            Self::Next => v1::EdgeKind::Next,
            Self::Similar => v1::EdgeKind::Similar,
            Self::Entity => v1::EdgeKind::Entity,
            Self::CrossSource => v1::EdgeKind::CrossSource,
            Self::SameCommunity => v1::EdgeKind::SameCommunity,
        }
    }
}

/// Walks and prints.
///
/// # Errors
/// When there is no store or server, or no such chunk.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let request = v1::GraphWalkRequest {
        from_chunk_ids: args.from,
        hops: args.hops,
        k: args.k,
        kinds: args.kinds.iter().map(|kind| kind.on_wire().into()).collect(),
        scope: args.place.scope()?,
        min_manifest_version: 0,
    };
    let answer = args.place.desk()?.walk(request)?;
    let mut out = Out::new(args.out.json);
    hit::walk(&mut out, &answer)?;
    if answer.reached.is_empty() {
        crate::note!("no edge leads on from there");
        return Ok(NOTHING);
    }
    Ok(DONE)
}
