//! Goes through the records of a JSON file, whichever way they are strung together.

use super::{Emit, Event, Input, empty, too_large};
use crate::decode::Trouble;
use crate::files::unreadable;
use crate::json::{Bad, Kind, Lines, Pull, Record, Value, parse};
use crate::seam::{Result, Stopped};

/// What is advised of a record that cannot be read.
const HINT: &str = "the records beside it went in; export again, or mend it and import again";

/// Why a reader stops: the input, or whoever takes what is read.
pub(super) enum Stop {
    /// The input is not what it should be.
    Bad(Bad),
    /// The import ends.
    Stopped,
}

impl From<Bad> for Stop {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl From<Stopped> for Stop {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// Says what stopped a reader, where it was the input.
pub(super) fn settle(read: std::result::Result<(), Stop>, emit: &mut Emit<'_>) -> Result<()> {
    match read {
        Ok(()) => Ok(()),
        Err(Stop::Bad(bad)) => emit(Event::Trouble(bad.trouble())),
        Err(Stop::Stopped) => Err(Stopped),
    }
}

/// Opens a file to pull from it, or says why it cannot be.
pub(super) fn pull<'p>(input: &Input<'_>) -> std::result::Result<Pull<'p>, Stop> {
    let reader = input.open().map_err(Bad::Io)?;
    Ok(Pull::new(reader, input.source_bytes_max))
}

/// Hands each record of the file to `take`: the elements of an array, or the values that stand one
/// after the other. What cannot be read is one line in the report and the others go in.
///
/// `take` gives what becomes of a record.
pub(super) fn each(input: &Input<'_>, emit: &mut Emit<'_>, take: &mut dyn FnMut(&Value<'_>) -> Event) -> Result<()> {
    each_with(input, emit, &mut |record, emit| emit(take(record)))
}

/// As [`each`], for records that may become several things or none.
pub(super) fn each_with(input: &Input<'_>, emit: &mut Emit<'_>, take: &mut TakeRecord<'_>) -> Result<()> {
    let read = each_record(input, emit, take);
    settle(read, emit)
}

/// Takes a record and hands on what it becomes.
pub(super) type TakeRecord<'a> = dyn FnMut(&Value<'_>, &mut Emit<'_>) -> Result<()> + 'a;

fn each_record(input: &Input<'_>, emit: &mut Emit<'_>, take: &mut TakeRecord<'_>) -> std::result::Result<(), Stop> {
    let mut pull = pull(input)?;
    let is_array = pull.kind()? == Some(Kind::Array);
    if is_array {
        pull.enter()?;
    }
    let mut n_records = 0_u64;
    loop {
        let is_there = if is_array { pull.next_element()? } else { pull.kind()?.is_some() };
        if !is_there {
            break;
        }
        n_records += 1;
        record(&pull.value()?, input.source_bytes_max, emit, take)?;
    }
    if n_records == 0 {
        emit(Event::Trouble(empty()))?;
    }
    Ok(pull.ended()?)
}

/// Hands one record to `take`, or says why it cannot be read.
pub(super) fn record(
    record: &Record<'_>,
    bytes_max: u64,
    emit: &mut Emit<'_>,
    take: &mut TakeRecord<'_>,
) -> Result<()> {
    let Some(bytes) = record.bytes else {
        return emit(Event::Trouble(too_large(&record.place(), record.n_bytes, bytes_max)));
    };
    // What was mended in the record is counted with the first source it becomes.
    let mut n_replaced = 0;
    let mut events = Vec::new();
    let read = parse(bytes, &mut n_replaced, |value| {
        take(value, &mut |event| {
            events.push(event);
            Ok(())
        })
    });
    match read {
        Ok(taken) => taken?,
        Err(reason) => events.push(Event::Trouble(Trouble::new(record.place(), reason, HINT))),
    }
    if let Some(Event::Draft(draft)) = events.first_mut() {
        draft.n_replaced += n_replaced;
    }
    events.into_iter().try_for_each(emit)
}

/// Hands each line of JSONL to `take`; returns whether every line could be read, and how many characters
/// had to be replaced before it could.
pub(super) fn each_line(
    input: &Input<'_>,
    emit: &mut Emit<'_>,
    take: &mut dyn FnMut(&Value<'_>),
) -> Result<(bool, u64)> {
    let (mut is_whole, mut n_replaced) = (true, 0);
    let mut lines = match input.open() {
        Ok(reader) => Lines::new(reader, input.source_bytes_max),
        Err(error) => return emit(Event::Trouble(unreadable(&error))).map(|()| (false, n_replaced)),
    };
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok((is_whole, n_replaced)),
            Err(error) => return emit(Event::Trouble(unreadable(&error))).map(|()| (false, n_replaced)),
        };
        if line.is_blank() {
            continue;
        }
        let trouble = if line.n_bytes > input.source_bytes_max {
            too_large(&line.place(), line.n_bytes, input.source_bytes_max)
        } else {
            match parse(&line.bytes, &mut n_replaced, &mut *take) {
                Ok(()) => continue,
                Err(reason) => Trouble::new(line.place(), reason, HINT),
            }
        };
        is_whole = false;
        emit(Event::Trouble(trouble))?;
    }
}
