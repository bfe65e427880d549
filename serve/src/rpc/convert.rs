//! Between the memory's nouns and the wire's: plain conversions, nothing is decided here.
//!
//! `index::model` has no proto, so that wire and disk age apart; this is where they meet.

use index::model::{ChunkKind, EdgeKind, Role, Source, SourceKind, Span, TimeOrigin, Timestamp, Turn};
use index::search::{Context, Hit, Place, Reached, Record, SourceRef, Unit};
use prost_types::Timestamp as WireTime;
use proto::v1;

use crate::error::{Error, Result};

const MICROS: i64 = 1_000_000;

/// A moment on the wire.
pub fn time(at: Timestamp) -> WireTime {
    WireTime {
        seconds: at.as_micros().div_euclid(MICROS),
        nanos: i32::try_from(at.as_micros().rem_euclid(MICROS)).unwrap_or(0) * 1_000,
    }
}

/// A moment from the wire.
///
/// # Errors
/// [`Error::Argument`] where it lies outside the years 1 to 9999 or its nanoseconds outside a second.
pub fn moment(field: &'static str, at: WireTime) -> Result<Timestamp> {
    const FIRST: i64 = -62_135_596_800;
    const LAST: i64 = 253_402_300_799;
    let in_range = (FIRST..=LAST).contains(&at.seconds) && (0..1_000_000_000).contains(&at.nanos);
    if !in_range {
        return Err(Error::argument(field, "is no moment of the years 1 to 9999"));
    }
    Ok(Timestamp::from_micros(at.seconds * MICROS + i64::from(at.nanos) / 1_000))
}

/// A span on the wire.
pub fn span(span: Span) -> v1::Span {
    v1::Span { start: span.start, end: span.end }
}

/// A unit on the wire.
pub fn unit(unit: Unit) -> v1::Unit {
    match unit {
        Unit::Chunk => v1::Unit::Chunk,
        Unit::Turn => v1::Unit::Turn,
        Unit::Session => v1::Unit::Session,
        Unit::Source => v1::Unit::Source,
    }
}

/// A unit from the wire; unspecified is a chunk.
///
/// # Errors
/// [`Error::Argument`] for a number that this build does not know.
pub fn asked_unit(number: i32) -> Result<Unit> {
    match v1::Unit::try_from(number) {
        Ok(v1::Unit::Unspecified | v1::Unit::Chunk) => Ok(Unit::Chunk),
        Ok(v1::Unit::Turn) => Ok(Unit::Turn),
        Ok(v1::Unit::Session) => Ok(Unit::Session),
        Ok(v1::Unit::Source) => Ok(Unit::Source),
        Err(_) => Err(Error::argument("unit", format!("{number} is not known"))),
    }
}

fn chunk_kind(kind: ChunkKind) -> v1::ChunkKind {
    match kind {
        ChunkKind::Community => v1::ChunkKind::Community,
        ChunkKind::Exchange => v1::ChunkKind::Exchange,
        ChunkKind::Paragraph => v1::ChunkKind::Paragraph,
        ChunkKind::FactsCard => v1::ChunkKind::FactsCard,
    }
}

/// An edge's kind on the wire.
pub fn edge_kind(kind: EdgeKind) -> v1::EdgeKind {
    match kind {
        EdgeKind::Next => v1::EdgeKind::Next,
        EdgeKind::Similar => v1::EdgeKind::Similar,
        EdgeKind::Entity => v1::EdgeKind::Entity,
        EdgeKind::CrossSource => v1::EdgeKind::CrossSource,
        EdgeKind::SameCommunity => v1::EdgeKind::SameCommunity,
    }
}

/// An edge's kind from the wire.
///
/// # Errors
/// [`Error::Argument`] for unspecified or a number that this build does not know.
pub fn asked_edge_kind(number: i32) -> Result<EdgeKind> {
    match v1::EdgeKind::try_from(number) {
        Ok(v1::EdgeKind::Next) => Ok(EdgeKind::Next),
        Ok(v1::EdgeKind::Similar) => Ok(EdgeKind::Similar),
        Ok(v1::EdgeKind::Entity) => Ok(EdgeKind::Entity),
        Ok(v1::EdgeKind::CrossSource) => Ok(EdgeKind::CrossSource),
        Ok(v1::EdgeKind::SameCommunity) => Ok(EdgeKind::SameCommunity),
        Ok(v1::EdgeKind::Unspecified) | Err(_) => Err(Error::argument("kinds", format!("{number} is not known"))),
    }
}

/// A role on the wire.
pub fn role(role: Role) -> v1::Role {
    match role {
        Role::User => v1::Role::User,
        Role::Assistant => v1::Role::Assistant,
        Role::System => v1::Role::System,
        Role::Tool => v1::Role::Tool,
        Role::Unknown => v1::Role::Unspecified,
    }
}

/// A role from the wire.
pub fn said_role(role: v1::Role) -> Role {
    match role {
        v1::Role::User => Role::User,
        v1::Role::Assistant => Role::Assistant,
        v1::Role::System => Role::System,
        v1::Role::Tool => Role::Tool,
        v1::Role::Unspecified => Role::Unknown,
    }
}

fn origin(origin: TimeOrigin) -> v1::TimeOrigin {
    match origin {
        TimeOrigin::Given => v1::TimeOrigin::Given,
        TimeOrigin::Inferred => v1::TimeOrigin::Inferred,
        TimeOrigin::Unknown => v1::TimeOrigin::Unspecified,
    }
}

fn source_kind(kind: SourceKind) -> v1::SourceKind {
    match kind {
        SourceKind::Document => v1::SourceKind::Document,
        SourceKind::Conversation => v1::SourceKind::Conversation,
    }
}

/// A hit's source on the wire.
pub fn source_ref(source: &SourceRef) -> v1::SourceRef {
    v1::SourceRef {
        id: source.id.to_string(),
        key: source.key.clone(),
        title: source.title.clone(),
        scope: source.scope.to_string(),
        kind: source_kind(source.kind).into(),
        reader: source.reader.clone(),
        version: source.version,
    }
}

/// What a stored source is, as a hit would name it.
pub fn ref_of(source: &Source) -> v1::SourceRef {
    source_ref(&SourceRef::from(source))
}

/// A stored source on the wire.
pub fn source(source: &Source) -> v1::Source {
    v1::Source {
        r#ref: Some(ref_of(source)),
        collection: source.collection.clone(),
        path: source.path.clone(),
        exported_at: source.exported_at.map(time),
        recorded_at: Some(time(source.recorded_at)),
        n_tokens: source.n_tokens,
        n_unknown: source.n_unknown,
        n_replaced: source.n_replaced,
        digest: source.digest.to_string(),
        metadata: source.metadata.clone(),
    }
}

/// A stored turn on the wire.
pub fn turn(turn: &Turn) -> v1::Turn {
    v1::Turn {
        id: turn.id.clone(),
        author: turn.author.clone(),
        role: role(turn.role).into(),
        said_at: turn.said_at.map(time),
        said_at_origin: origin(turn.said_at_origin).into(),
        reply_to: turn.reply_to.clone().unwrap_or_default(),
        session: turn.session,
        span: Some(span(turn.span)),
        metadata: turn.metadata.clone(),
    }
}

fn place(place: Place) -> v1::Place {
    v1::Place {
        unit_id: place.unit_id,
        source: Some(source_ref(&place.source)),
        spans: place.spans.into_iter().map(span).collect(),
        turn_ids: place.turn_ids,
    }
}

/// A hit on the wire.
pub fn hit(hit: Hit) -> v1::Hit {
    let signals = hit.signals.iter().map(|signal| v1::Signal {
        name: signal.name.to_owned(),
        score: signal.score,
        weight: signal.weight,
    });
    v1::Hit {
        unit: unit(hit.unit).into(),
        unit_id: hit.unit_id,
        source: Some(source_ref(&hit.source)),
        chunk_kind: hit.chunk_kind.map_or(v1::ChunkKind::Unspecified, chunk_kind).into(),
        spans: hit.spans.into_iter().map(span).collect(),
        turn_ids: hit.turn_ids,
        text: hit.text,
        author: hit.author,
        role: role(hit.role).into(),
        said_at: hit.said_at.map(time),
        said_at_origin: origin(hit.said_at_origin).into(),
        score: hit.score,
        signals: signals.collect(),
        places: hit.places.into_iter().map(place).collect(),
    }
}

/// A context on the wire.
pub fn context(context: Context) -> v1::GetContextResponse {
    let record = |record: Record| v1::Record { citation: record.citation, hit: Some(hit(record.hit)), cut: record.cut };
    v1::GetContextResponse {
        manifest_version: context.version,
        text: context.text,
        n_tokens: context.n_tokens,
        records: context.records.into_iter().map(record).collect(),
    }
}

/// A reached chunk on the wire.
pub fn reached(reached: Reached) -> v1::Reached {
    let hops = reached.path.iter().map(|hop| v1::Hop {
        from_chunk_id: hop.from.to_string(),
        to_chunk_id: hop.to.to_string(),
        kind: edge_kind(hop.kind).into(),
        forward: hop.forward,
        weight: hop.weight,
    });
    v1::Reached { path: hops.collect(), hit: Some(hit(reached.hit)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_survive_the_wire(micros in -62_135_596_800_000_000i64..253_402_300_799_000_000) {
            let at = Timestamp::from_micros(micros);
            prop_assert_eq!(moment("said_at", time(at)).unwrap(), at);
        }

        #[test]
        fn no_wire_time_panics(seconds in any::<i64>(), nanos in any::<i32>()) {
            let _ = moment("said_at", WireTime { seconds, nanos });
        }
    }

    #[test]
    fn units_and_edges_come_back_as_they_went() {
        for asked in Unit::ALL {
            assert_eq!(asked_unit(unit(asked).into()).unwrap(), asked);
        }
        assert!(asked_unit(99).is_err());
        assert_eq!(asked_edge_kind(edge_kind(EdgeKind::Entity).into()).unwrap(), EdgeKind::Entity);
        assert!(asked_edge_kind(0).is_err());
    }
}
