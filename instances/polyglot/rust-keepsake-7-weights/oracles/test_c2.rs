//! What is there is not made again.

use keepsake::Cache;
use std::cell::Cell;
use std::time::Duration;

fn made(life: Duration, times: usize) -> usize {
    let made = Cell::new(0);
    let mut cache = Cache::new(4, life);
    for _ in 0..times {
        cache.get_or_insert_with("a", || {
            made.set(made.get() + 1);
            made.get()
        });
    }
    made.get()
}

#[test]
fn what_is_there_is_not_made() {
    assert_eq!(made(Duration::from_secs(3600), 5), 1);
}

#[test]
fn what_is_too_old_is_made_again() {
    assert_eq!(made(Duration::ZERO, 3), 3);
}

#[test]
fn what_was_made_is_found() {
    let mut cache = Cache::new(4, Duration::from_secs(3600));
    assert_eq!(cache.get_or_insert_with("a", || 7), Some(&7));
    assert_eq!(cache.get(&"a"), Some(&7));
}
