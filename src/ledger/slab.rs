//! Stores requests in a slab, which finds them by number without hashing, and indexes them by id.
//!
//! An entry keeps its number until it is removed. It can leave the index before it leaves the slab: then its id is free
//! again, but its number isn't yet.

use std::mem;

use crate::message::Id;

/// Entries in a chunk: one for each bit of its free list.
const CHUNK: usize = u32::BITS as usize;
/// The smallest size of a non-empty index.
const MIN_INDEX_LEN: usize = 16;
/// An index of up to this many places has at least four places per entry, because a collision costs more than the
/// lookup itself. A larger index has at least two, to save memory.
const SMALL_INDEX_LEN: usize = 1024;
/// A place of the index without an entry. No slab is large enough for this number.
const VACANT: u64 = u64::MAX;

/// Starts at a cache line, as its chunks do.
#[repr(align(64))]
pub(super) struct Slab<V> {
    /// `None` for a chunk that was freed.
    chunks: Vec<Option<Box<Chunk<V>>>>,
    /// The chunks with free entries, including freed chunks. The last one is filled first.
    roomy: Vec<u32>,
    allocated: usize,
    /// Whether one of the chunks is empty. A second empty chunk is freed immediately.
    has_empty: bool,
    /// Open addressing with linear probing: a hash in the upper half, a number in the lower, or [`VACANT`].
    index: Vec<u64>,
    indexed: usize,
}

#[repr(align(64))]
struct Chunk<V> {
    /// One bit per entry, set if the entry is free.
    free: u32,
    entries: [Entry<V>; CHUNK],
}

struct Entry<V> {
    /// Null while the entry is free, so that it doesn't keep a long id in memory.
    id: Id<'static>,
    hash: u32,
    /// `None` while the entry is free.
    value: Option<V>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), roomy: Vec::new(), allocated: 0, has_empty: false, index: Vec::new(), indexed: 0 }
    }
}

impl<V> Slab<V> {
    /// The number of entries in the index.
    pub(super) fn len(&self) -> usize {
        self.indexed
    }

    /// The number of the entry with this id.
    pub(super) fn find(&self, hash: u32, id: &Id<'_>) -> Option<u32> {
        let mask = self.index.len().checked_sub(1)?;
        self.probe(hash, id, mask).ok()
    }

    /// The number of the entry with this id, or the place in the index where it belongs.
    #[inline]
    fn probe(&self, hash: u32, id: &Id<'_>, mask: usize) -> Result<u32, usize> {
        let mut at = hash as usize & mask;
        loop {
            let place = self.index[at];
            if place == VACANT {
                return Err(at);
            }
            let (its_hash, number) = halves(place);
            if its_hash == hash && self.id(number).is_some_and(|its_id| its_id == id) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an entry and returns its number, or `None` if there is one with the same id.
    #[inline]
    pub(super) fn insert(&mut self, hash: u32, id: &Id<'_>, value: V) -> Option<u32> {
        if is_crowded(self.indexed + 1, self.index.len()) {
            self.resize_index((2 * self.index.len()).max(MIN_INDEX_LEN));
        }
        let at = self.probe(hash, id, self.index.len() - 1).err()?;
        let number = self.occupy(hash, id, value);
        self.index[at] = place(hash, number);
        self.indexed += 1;
        Some(number)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "callers limit the number of entries to 2^28")]
    fn occupy(&mut self, hash: u32, id: &Id<'_>, value: V) -> u32 {
        let at = match self.roomy.last() {
            Some(&at) => at as usize,
            None => {
                self.chunks.push(None);
                self.roomy.push((self.chunks.len() - 1) as u32);
                self.chunks.len() - 1
            }
        };
        let chunk = match &mut self.chunks[at] {
            Some(chunk) => {
                self.has_empty &= chunk.free != u32::MAX;
                chunk
            }
            none => {
                self.allocated += 1;
                none.insert(Box::new(Chunk {
                    free: u32::MAX,
                    entries: [const { Entry { id: Id::NULL, hash: 0, value: None } }; CHUNK],
                }))
            }
        };
        let bit = chunk.free.trailing_zeros();
        chunk.free &= chunk.free - 1;
        if chunk.free == 0 {
            self.roomy.pop();
        }
        let entry = &mut chunk.entries[bit as usize % CHUNK];
        id.copy_to(&mut entry.id);
        entry.hash = hash;
        entry.value = Some(value);
        (at * CHUNK) as u32 + bit
    }

    /// The id of an entry.
    #[inline]
    pub(super) fn id(&self, number: u32) -> Option<&Id<'static>> {
        let (at, bit) = chunk_and_bit(number);
        let entry = &self.chunks.get(at)?.as_ref()?.entries[bit];
        entry.value.is_some().then_some(&entry.id)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut V> {
        self.entry(number)?.value.as_mut()
    }

    /// All entries, including those that have left the index, with their numbers.
    #[allow(clippy::cast_possible_truncation, reason = "as when they were inserted")]
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &Id<'static>, &mut V)> {
        self.chunks.iter_mut().enumerate().filter_map(|(at, chunk)| Some((at, chunk.as_mut()?))).flat_map(
            |(at, chunk)| {
                let entries = chunk.entries.iter_mut().enumerate();
                entries.filter_map(move |(bit, Entry { id, value, .. })| {
                    Some(((at * CHUNK + bit) as u32, &*id, value.as_mut()?))
                })
            },
        )
    }

    /// Removes an entry that is in the index.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> Option<(Id<'static>, V)> {
        self.forget(number);
        self.vacate(number)
    }

    /// Removes an entry from the index, so that its id is free. The entry stays until it is [vacated](Self::vacate).
    #[inline]
    pub(super) fn forget(&mut self, number: u32) {
        let Some(&mut Entry { hash, value: Some(_), .. }) = self.entry(number) else { return };
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        while halves(self.index[at]).1 != number {
            if self.index[at] == VACANT {
                return;
            }
            at = (at + 1) & mask;
        }
        // Entries that follow move up, unless that would put them before their home position.
        let mut next = at;
        loop {
            next = (next + 1) & mask;
            if self.index[next] == VACANT {
                break;
            }
            let home = halves(self.index[next]).0 as usize & mask;
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(at) & mask) {
                self.index[at] = self.index[next];
                at = next;
            }
        }
        self.index[at] = VACANT;
        self.indexed -= 1;
        if self.index.len() > MIN_INDEX_LEN && 32 * self.indexed < self.index.len() {
            self.resize_index((self.index.len() / 4).max(MIN_INDEX_LEN));
        }
    }

    /// Removes an entry that is no longer in the index.
    #[inline]
    pub(super) fn vacate(&mut self, number: u32) -> Option<(Id<'static>, V)> {
        let entry = self.entry(number)?;
        let value = entry.value.take()?;
        let id = mem::replace(&mut entry.id, Id::NULL);
        self.mark_free(number);
        Some((id, value))
    }

    /// Like [`vacate`](Self::vacate), without moving the entry out.
    #[inline]
    pub(super) fn discard(&mut self, number: u32) {
        if let Some(entry) = self.entry(number)
            && entry.value.take().is_some()
        {
            entry.id = Id::NULL;
            self.mark_free(number);
        }
    }

    #[inline]
    fn entry(&mut self, number: u32) -> Option<&mut Entry<V>> {
        let (at, bit) = chunk_and_bit(number);
        Some(&mut self.chunks.get_mut(at)?.as_mut()?.entries[bit])
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "as when it was inserted")]
    fn mark_free(&mut self, number: u32) {
        let (at, bit) = chunk_and_bit(number);
        let Some(chunk) = &mut self.chunks[at] else { return };
        if chunk.free == 0 {
            self.roomy.push(at as u32);
        }
        chunk.free |= 1 << bit;
        if chunk.free == u32::MAX {
            match self.has_empty {
                true => self.free_chunk(at),
                false => self.has_empty = true,
            }
        }
    }

    #[cold]
    fn free_chunk(&mut self, at: usize) {
        self.chunks[at] = None;
        self.allocated -= 1;
        if self.allocated == 1 {
            // The remaining chunk is empty, so no number is in use.
            let mut chunks = mem::take(&mut self.chunks);
            self.chunks.extend(chunks.drain(..).find(Option::is_some));
            self.roomy = vec![0];
        } else if 8 * self.allocated <= self.chunks.len() && matches!(self.chunks.last(), Some(None)) {
            // Shorten the lists as well, as far as the numbers in use permit.
            let used = self.chunks.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.chunks.truncate(used);
            self.chunks.shrink_to_fit();
            self.roomy.retain(|&at| (at as usize) < used);
            self.roomy.shrink_to_fit();
        }
    }

    #[cold]
    fn resize_index(&mut self, len: usize) {
        let mut index = vec![VACANT; len];
        let mask = len - 1;
        for &place in self.index.iter().filter(|&&place| place != VACANT) {
            let mut at = halves(place).0 as usize & mask;
            while index[at] != VACANT {
                at = (at + 1) & mask;
            }
            index[at] = place;
        }
        self.index = index;
    }
}

/// Whether an index of `places` is too small for `entries`.
#[inline]
fn is_crowded(entries: usize, places: usize) -> bool {
    entries * if places <= SMALL_INDEX_LEN { 4 } else { 2 } > places
}

fn place(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(number)
}

#[allow(clippy::cast_possible_truncation, reason = "the halves of a word")]
fn halves(place: u64) -> (u32, u32) {
    ((place >> 32) as u32, place as u32)
}

fn chunk_and_bit(number: u32) -> (usize, usize) {
    (number as usize / CHUNK, number as usize % CHUNK)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Compares the slab with a map, with few hashes and therefore many collisions, in phases of many entries and of
    /// few.
    #[test]
    fn is_a_map() {
        let (mut slab, mut model) = (Slab::default(), HashMap::new());
        let mut state = 1_u64;
        for round in 0..400_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = (state >> 33) % if (round / 100_000) % 2 == 0 { 5000 } else { 40 };
            let id = Id::from(key);
            let hash = u32::try_from(key).unwrap().wrapping_mul(0x9e37_79b9) >> 20;
            assert_eq!(slab.find(hash, &id), model.get(&key).copied());
            match model.remove(&key) {
                None => {
                    let number = slab.insert(hash, &id, key).unwrap();
                    assert_eq!(slab.insert(hash, &id, key), None);
                    model.insert(key, number);
                }
                Some(number) => assert_eq!(slab.remove(number).unwrap().1, key),
            }
            assert_eq!(slab.len(), model.len());
            if round % 200_000 == 199_999 {
                assert_eq!(slab.iter_mut().count(), model.len());
                for (key, number) in model.drain() {
                    assert_eq!(*slab.get_mut(number).unwrap(), key);
                    slab.remove(number).unwrap();
                }
                assert_eq!(slab.allocated, 1);
                assert!(slab.chunks.len() <= 8 && slab.roomy.capacity() <= 16 && slab.index.len() <= MIN_INDEX_LEN);
            }
        }
    }

    #[test]
    fn a_forgotten_entry_keeps_its_number() {
        let mut slab = Slab::default();
        let id = Id::from(1);
        let first = slab.insert(7, &id, "first").unwrap();
        slab.forget(first);
        assert_eq!((slab.len(), slab.find(7, &id)), (0, None));
        let second = slab.insert(7, &id, "second").unwrap();
        assert_ne!(first, second);
        slab.forget(first);
        assert_eq!(slab.find(7, &id), Some(second));
        assert_eq!(slab.vacate(first).unwrap().1, "first");
        assert!(slab.vacate(first).is_none() && slab.id(first).is_none());
        assert_eq!(slab.remove(second).unwrap().1, "second");
    }
}
