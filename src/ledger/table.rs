//! The requests of a shard, each found by its id or by its number.
//!
//! The first [`NEAR`] entries are *near*: the table itself holds 16 bits of the hash of each, and finding an entry means
//! comparing all of these. So a request usually writes two cache lines, one of the table and one of the entry. An index
//! and a list of free entries would need several more, each of which has to be fetched from another CPU if that was the
//! last to use the shard. Entries beyond these are in a [`Slab`].
//!
//! As in a slab, an entry keeps its number until it is removed, and can leave the index before it leaves the table.

use crate::message::Id;

use super::slab::Slab;

/// How many entries are near. Numbers from here on are those of the slab.
const NEAR: u32 = 48;
/// Near entries that are allocated together, and whose tags are compared together.
const GROUP: usize = 8;
const GROUPS: usize = NEAR as usize / GROUP;
/// How many groups an empty table keeps.
const KEPT: usize = 2;

/// In this order, so that the tags of two groups are on the same cache line as the lock before the table, and `near`,
/// which is seldom written, is on another.
#[repr(C)]
pub(super) struct Table<V> {
    /// A bit for each near entry that is in use.
    used: u64,
    rest: Option<Box<Slab<V>>>,
    /// The [`tag`] of each near entry, or 0 if it isn't in the index.
    tags: [[u16; GROUP]; GROUPS],
    near: [Option<Box<[Entry<V>; GROUP]>>; GROUPS],
}

/// Aligned so that no two entries of a ledger share a cache line.
#[repr(align(64))]
struct Entry<V> {
    /// Null while the entry is free, so that no long id is kept.
    id: Id<'static>,
    /// `None` while the entry is free.
    value: Option<V>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { used: 0, rest: None, tags: [[0; GROUP]; GROUPS], near: [const { None }; GROUPS] }
    }
}

impl<V> Table<V> {
    /// The number of entries in the index.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let near: u16 = self.tags[..self.groups()].iter().flatten().map(|&tag| u16::from(tag != 0)).sum();
        usize::from(near) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// How many groups there are up to the last near entry.
    #[inline]
    fn groups(&self) -> usize {
        ((u64::BITS - self.used.leading_zeros()) as usize).div_ceil(GROUP)
    }

    /// The number of the entry with this id.
    #[inline]
    pub(super) fn find(&self, hash: u32, id: &Id<'_>) -> Option<u32> {
        self.find_near(hash, id).or_else(|| self.find_far(hash, id))
    }

    #[inline]
    fn find_far(&self, hash: u32, id: &Id<'_>) -> Option<u32> {
        self.rest.as_ref()?.find(hash, id).map(|number| number + NEAR)
    }

    #[inline]
    fn find_near(&self, hash: u32, id: &Id<'_>) -> Option<u32> {
        let tag = tag(hash);
        for (group, tags) in self.tags.iter().enumerate().take(self.groups()) {
            // Without a branch for each of them.
            if tags.iter().fold(false, |any, its_tag| any | (*its_tag == tag))
                && let Some(number) = self.find_in(group, tag, id)
            {
                return Some(number);
            }
        }
        None
    }

    #[allow(clippy::cast_possible_truncation, reason = "below `NEAR`")]
    fn find_in(&self, group: usize, tag: u16, id: &Id<'_>) -> Option<u32> {
        let entries = self.near[group].as_ref()?;
        let is_it = |at: &usize| self.tags[group][*at] == tag && entries[*at].id == *id;
        (0..GROUP).find(is_it).map(|at| (group * GROUP + at) as u32)
    }

    /// Adds an entry and returns its number, or `None` if there is one with the same id.
    #[inline]
    pub(super) fn insert(&mut self, hash: u32, id: &Id<'_>, value: V) -> Option<u32> {
        if self.find_near(hash, id).is_some() {
            return None;
        }
        let number = self.used.trailing_ones();
        if number == NEAR {
            let rest = self.rest.get_or_insert_default();
            return rest.insert(hash, id, value).map(|number| number + NEAR);
        }
        if self.find_far(hash, id).is_some() {
            return None;
        }
        let (group, at) = group_and_place(number);
        let entries = self.near[group].get_or_insert_with(new_group);
        let entry = &mut entries[at];
        id.copy_to(&mut entry.id);
        entry.value = Some(value);
        self.used |= 1 << number;
        self.tags[group][at] = tag(hash);
        Some(number)
    }

    /// The id of an entry.
    pub(super) fn id(&self, number: u32) -> Option<&Id<'static>> {
        if let Some(number) = number.checked_sub(NEAR) {
            return self.rest.as_ref()?.id(number);
        }
        let (group, at) = group_and_place(number);
        let entry = &self.near[group].as_ref()?[at];
        entry.value.is_some().then_some(&entry.id)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut V> {
        if let Some(number) = number.checked_sub(NEAR) {
            return self.rest.as_mut()?.get_mut(number);
        }
        let (group, at) = group_and_place(number);
        self.near[group].as_mut()?[at].value.as_mut()
    }

    /// All entries, including those that have left the index, with their numbers.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &Id<'static>, &mut V)> {
        let groups = (0..NEAR).step_by(GROUP).zip(&mut self.near);
        let near = groups
            .flat_map(|(first, entries)| (first..).zip(entries.iter_mut().flat_map(|entries| entries.iter_mut())));
        let near = near.filter_map(|(number, Entry { id, value })| Some((number, &*id, value.as_mut()?)));
        let rest = self.rest.iter_mut().flat_map(|rest| rest.iter_mut());
        near.chain(rest.map(|(number, id, value)| (number + NEAR, id, value)))
    }

    /// Removes an entry from the index, so that its id is free. The entry stays until it is [discarded](Self::discard).
    #[inline]
    pub(super) fn forget(&mut self, number: u32) {
        if number < NEAR {
            let (group, at) = group_and_place(number);
            self.tags[group][at] = 0;
        } else if let Some(rest) = &mut self.rest {
            rest.forget(number - NEAR);
        }
    }

    /// Removes an entry that is no longer in the index.
    #[inline]
    pub(super) fn discard(&mut self, number: u32) {
        if number < NEAR {
            let (group, at) = group_and_place(number);
            let Some(entries) = &mut self.near[group] else { return };
            entries[at].id = Id::NULL;
            entries[at].value = None;
            self.used &= !(1 << number);
        } else if let Some(rest) = &mut self.rest {
            rest.discard(number - NEAR);
        }
        self.has_vacated();
    }

    #[inline]
    fn has_vacated(&mut self) {
        if self.used == 0 && (self.rest.is_some() || self.near[KEPT].is_some()) {
            self.shrink();
        }
    }

    /// Gives back what a table without near entries doesn't need.
    #[cold]
    fn shrink(&mut self) {
        self.near[KEPT..].fill_with(|| None);
        self.rest.take_if(|rest| rest.is_vacant());
    }
}

#[cold]
fn new_group<V>() -> Box<[Entry<V>; GROUP]> {
    Box::new([const { Entry { id: Id::NULL, value: None } }; GROUP])
}

/// Some bits of a hash, never 0. The slab uses the others.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the upper half of a hash")]
fn tag(hash: u32) -> u16 {
    (hash >> 16) as u16 | 1
}

/// For the number of a near entry.
#[inline]
fn group_and_place(number: u32) -> (usize, usize) {
    (number as usize / GROUP, number as usize % GROUP)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Compares the table with a map, with few hashes and therefore many collisions, in phases of many entries and of
    /// few. An entry that is removed may stay in the table for a while after it has left the index.
    #[test]
    fn is_a_map() {
        let (mut table, mut model, mut held) = (Table::default(), HashMap::new(), Vec::new());
        let mut state = 1_u64;
        for round in 0..1_000_000_usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let keys = [5000, 90, 10, 1000][round / 50_000 % 4];
            let key = (state >> 33) % keys;
            let id = Id::from(key);
            let hash = u32::try_from(key).unwrap().wrapping_mul(0x9e37_79b9) & 0x003f_0fff;
            assert_eq!(table.find(hash, &id), model.get(&key).copied());
            match model.remove(&key) {
                None => {
                    let number = table.insert(hash, &id, key).unwrap();
                    assert_eq!(table.insert(hash, &id, key), None);
                    assert_eq!(table.id(number), Some(&id));
                    assert_eq!(table.get_mut(number).copied(), Some(key));
                    model.insert(key, number);
                }
                Some(number) if state >> 62 == 0 => {
                    table.forget(number);
                    held.push((number, key));
                }
                Some(number) => {
                    table.forget(number);
                    table.discard(number);
                    assert!(table.id(number).is_none() && table.get_mut(number).is_none());
                }
            }
            if held.len() > 20 {
                let (number, key) = held.swap_remove((state >> 40) as usize % 20);
                assert_eq!(table.id(number), Some(&Id::from(key)));
                assert_eq!(table.get_mut(number).copied(), Some(key));
                table.discard(number);
            }
            if round % 1000 == 0 {
                assert_eq!(table.len(), model.len());
                let mut all: Vec<_> = table.iter_mut().map(|(number, _, key)| (number, *key)).collect();
                let mut expected: Vec<_> = model.iter().map(|(key, number)| (*number, *key)).collect();
                expected.extend(&held);
                all.sort_unstable();
                expected.sort_unstable();
                assert_eq!(all, expected);
            }
            if round % 100_000 == 99_999 {
                for (_, number) in model.drain() {
                    table.forget(number);
                    table.discard(number);
                }
                held.drain(..).for_each(|(number, _)| table.discard(number));
                assert_eq!((table.len(), table.used), (0, 0));
                assert!(table.rest.is_none() && table.near[KEPT..].iter().all(Option::is_none));
            }
        }
    }

    #[test]
    fn a_forgotten_entry_keeps_its_number() {
        for others in [0, 100] {
            let mut table = Table::default();
            for other in 0..others {
                table.insert(other, &Id::from(1000 + other), "other").unwrap();
            }
            let id = Id::from(1);
            let first = table.insert(7, &id, "first").unwrap();
            table.forget(first);
            assert_eq!((table.len(), table.find(7, &id)), (others as usize, None));
            let second = table.insert(7, &id, "second").unwrap();
            assert_ne!(first, second);
            table.forget(first);
            assert_eq!(table.find(7, &id), Some(second));
            assert_eq!(table.get_mut(first).copied(), Some("first"));
            table.discard(first);
            assert!(table.get_mut(first).is_none() && table.id(first).is_none());
            assert_eq!(table.get_mut(second).copied(), Some("second"));
        }
    }

    /// An id that was entered beyond the near entries isn't entered again once there is room among these.
    #[test]
    fn near_and_far_entries_have_different_ids() {
        let mut table = Table::default();
        let numbers: Vec<_> = (0..=NEAR).map(|key| table.insert(key, &Id::from(key), ()).unwrap()).collect();
        assert_eq!(numbers, (0..=NEAR).collect::<Vec<_>>());
        table.forget(3);
        table.discard(3);
        assert_eq!(table.insert(NEAR, &Id::from(NEAR), ()), None);
        assert_eq!(table.insert(3, &Id::from(3), ()), Some(3));
    }
}
