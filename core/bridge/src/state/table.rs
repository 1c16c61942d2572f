//! Handles and tickets: generational indices, so that a stale number never refers to a newer entry.

/// Numbers stay below 2^53: the low bits are the kind, followed by the slot and its generation.
const KIND_BITS: u32 = 4;
const SLOT_BITS: u32 = 24;
const GENERATION_SHIFT: u32 = KIND_BITS + SLOT_BITS;
const GENERATIONS: u64 = 1 << (53 - GENERATION_SHIFT);

/// The kind encoded in a number.
pub(super) fn kind_of(number: u64) -> u64 {
    number & ((1 << KIND_BITS) - 1)
}

/// Entries of one kind by number. A freed slot is reused with the next generation.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    kind: u64,
    slots: Vec<TableSlot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct TableSlot<T> {
    generation: u64,
    item: Option<T>,
}

impl<T> HandleTable<T> {
    pub(crate) fn new(kind: u64) -> Self {
        Self { kind, slots: Vec::new(), free: Vec::new() }
    }

    fn number(&self, index: usize, generation: u64) -> u64 {
        generation << GENERATION_SHIFT | (index as u64) << KIND_BITS | self.kind
    }

    /// The slot of a number, if it is of this kind and of the slot's generation.
    fn locate(&self, number: u64) -> Option<usize> {
        let index = ((number >> KIND_BITS) & ((1 << SLOT_BITS) - 1)) as usize;
        let slot = self.slots.get(index).filter(|_| kind_of(number) == self.kind)?;
        (slot.generation == number >> GENERATION_SHIFT).then_some(index)
    }

    /// Inserts an entry and returns its number, which is never 0. Returns `None` if the table is
    /// full.
    pub(crate) fn insert(&mut self, item: T) -> Option<u64> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < 1 << SLOT_BITS => {
                self.slots.push(TableSlot { generation: 1, item: None });
                self.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[index];
        slot.item = Some(item);
        let generation = slot.generation;
        Some(self.number(index, generation))
    }

    /// The entry of a number.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.slots[self.locate(number)?].item.as_ref()
    }

    /// The entry of a number.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let index = self.locate(number)?;
        self.slots[index].item.as_mut()
    }

    /// Removes an entry. Its number becomes stale.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let index = self.locate(number)?;
        let slot = &mut self.slots[index];
        let item = slot.item.take()?;
        slot.generation += 1;
        // A slot that has used all of its generations is retired.
        if slot.generation < GENERATIONS {
            self.free.push(index);
        }
        Some(item)
    }

    /// All numbers and entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(index, slot)| slot.item.as_ref().map(|item| (self.number(index, slot.generation), item)))
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tables::HandleKind;

    #[test]
    fn numbers_go_stale_and_are_never_zero() {
        let mut table = HandleTable::new(HandleKind::Call as u64);
        let first = table.insert("a").unwrap();
        assert_ne!(first, 0);
        assert_eq!(table.get(first), Some(&"a"));
        assert_eq!(table.remove(first), Some("a"));
        assert_eq!(table.remove(first), None);
        let second = table.insert("b").unwrap();
        assert_ne!(first, second);
        assert_eq!(table.get(first), None);
        assert_eq!(table.get(second), Some(&"b"));
        for wild in [0, 1, u64::MAX, 1 << 53] {
            assert_eq!(table.get(wild), None);
            assert_eq!(table.remove(wild), None);
        }
        assert!(second < 1 << 53);
        assert_eq!(table.len(), 1);
    }
    #[test]
    fn numbers_tell_their_kind_and_reach_nothing_of_another() {
        let (mut calls, mut requests) =
            (HandleTable::new(HandleKind::Call as u64), HandleTable::new(HandleKind::Request as u64));
        let (call, request) = (calls.insert("call").unwrap(), requests.insert("request").unwrap());
        assert_ne!(call, request);
        assert_eq!(
            (HandleKind::of(call), HandleKind::of(request)),
            (Some(HandleKind::Call), Some(HandleKind::Request))
        );
        assert_eq!((calls.get(request), requests.remove(call)), (None, None));
        assert_eq!(calls.iter().collect::<Vec<_>>(), [(call, &"call")]);
        assert_eq!((HandleKind::of(0), HandleKind::of(10), HandleKind::of(u64::MAX)), (None, None, None));
        for kind in 1..=9 {
            assert_eq!(HandleKind::of(kind).map(|kind| kind as u64), Some(kind));
        }
    }
}
