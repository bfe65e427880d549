//! The nearest rows of queries: exact, in tiles.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::best::Best;
use super::check_finite;
use super::pairs::{blocks, lock, none};
use super::panels::{Panels, Part};
use super::tile::{Ask, Block, Count, Scratch, Sides};
use crate::{Error, Neighbour, Result, Rows};

/// See [`crate::Backend::nearest`].
///
/// Each block of rows is packed once and multiplied with every block of queries.
pub(super) fn nearest(queries: Rows<'_>, rows: Rows<'_>, k: u32, similarity_min: f32) -> Result<Vec<Vec<Neighbour>>> {
    if queries.dim() != rows.dim() {
        let reason = format!("queries have {} dimensions, rows {}", queries.dim(), rows.dim());
        return Err(Error::Invalid { reason });
    }
    check_finite(queries, "query")?;
    check_finite(rows, "searched")?;
    if k == 0 {
        return Ok(vec![Vec::new(); queries.n()]);
    }
    let ask = Ask { k: k as usize, similarity_min, bonus: &[], count: Count::Nothing };
    let queries: Vec<Block<'_>> = blocks(queries).collect();
    let rows: Vec<Block<'_>> = blocks(rows).collect();
    let best: Vec<Mutex<Vec<Best>>> = queries.iter().map(|block| Mutex::new(none(block.rows.n()))).collect();
    rows.par_iter().for_each_init(Panels::default, |panels, rows| {
        panels.repack(rows.rows);
        let panels = &*panels;
        queries.par_iter().zip(&best).for_each_init(Scratch::default, |scratch, (queries, best)| {
            scratch.score(*queries, panels, rows.first, Part::All, ask.bonus);
            scratch.feed(queries.first, rows.first, Sides::Left(&mut lock(best)), &ask);
        });
    });
    let best = best.into_iter().flat_map(|best| best.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(best.map(|best| best.into_sorted(ask.k)).collect())
}
