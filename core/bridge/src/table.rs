//! Handles and tickets: integers that name things of a port and go stale, so that no number ever reaches the wrong thing.

/// Numbers stay below 2^53: a slot in the low bits, its generation above.
const SLOT_BITS: u32 = 24;
const GENERATIONS: u64 = 1 << (53 - SLOT_BITS);

/// Things by number. A freed slot is reused under the next generation.
#[derive(Debug)]
pub(super) struct Table<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u64,
    item: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Keeps a thing and gives its number, never 0. `None`: the table is full.
    pub(super) fn insert(&mut self, item: T) -> Option<u64> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < 1 << SLOT_BITS => {
                self.slots.push(Slot { generation: 1, item: None });
                self.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[index];
        slot.item = Some(item);
        Some(slot.generation << SLOT_BITS | index as u64)
    }

    /// The thing of a number.
    pub(super) fn get(&self, number: u64) -> Option<&T> {
        let slot = self.slots.get(index_of(number))?;
        slot.item.as_ref().filter(|_| slot.generation == number >> SLOT_BITS)
    }

    /// The thing of a number.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let slot = self.slots.get_mut(index_of(number))?;
        slot.item.as_mut().filter(|_| slot.generation == number >> SLOT_BITS)
    }

    /// Takes a thing out; its number goes stale.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let index = index_of(number);
        let slot = self.slots.get_mut(index)?;
        if slot.generation != number >> SLOT_BITS {
            return None;
        }
        let item = slot.item.take()?;
        slot.generation += 1;
        // A slot that has used up its generations is never used again.
        if slot.generation < GENERATIONS {
            self.free.push(index);
        }
        Some(item)
    }

    /// Every number with its thing.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            slot.item.as_ref().map(|item| (slot.generation << SLOT_BITS | index as u64, item))
        })
    }

    /// How many things there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

fn index_of(number: u64) -> usize {
    (number & ((1 << SLOT_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_stale_and_are_never_zero() {
        let mut table = Table::default();
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
}
