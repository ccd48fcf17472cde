use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

struct Entry<V> {
    value: V,
    used: u64,
    made: Instant,
}

/// Entries by key. The one that was not used for longest goes first.
pub struct Cache<K, V> {
    entries: HashMap<K, Entry<V>>,
    limit: usize,
    life: Duration,
    uses: u64,
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    /// Makes a cache of at most `limit` entries, each of which lives for `life`.
    pub fn new(limit: usize, life: Duration) -> Self {
        Cache {
            entries: HashMap::new(),
            limit,
            life,
            uses: 0,
        }
    }

    /// Returns how many entries there are, with those that are too old and were not looked at since.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key that is not too old.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let life = self.life;
        if self.entries.get(key)?.made.elapsed() >= life {
            self.entries.remove(key);
            return None;
        }
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.uses;
        Some(&entry.value)
    }

    /// Keeps a value, in the place of the one that the key had.
    pub fn insert(&mut self, key: K, value: V) {
        while self.entries.len() >= self.limit && !self.entries.contains_key(&key) {
            self.evict();
        }
        self.uses += 1;
        let entry = Entry {
            value,
            used: self.uses,
            made: Instant::now(),
        };
        self.entries.insert(key, entry);
    }

    fn evict(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
        let key = oldest.map(|(key, _)| key.clone()).unwrap();
        self.entries.remove(&key);
    }
}
