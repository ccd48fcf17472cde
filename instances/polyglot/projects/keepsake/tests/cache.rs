use keepsake::Cache;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn what_was_kept_is_found() {
    let mut cache = Cache::new(2, HOUR);
    cache.insert("a", 1);
    assert_eq!(cache.get(&"a"), Some(&1));
    assert_eq!(cache.get(&"b"), None);
    assert!(!cache.is_empty());
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let mut cache = Cache::new(2, HOUR);
    cache.insert("a", 1);
    cache.insert("b", 2);
    cache.get(&"a");
    cache.insert("c", 3);
    assert_eq!(cache.get(&"b"), None);
    assert_eq!(cache.get(&"a"), Some(&1));
}

#[test]
fn what_is_too_old_is_gone() {
    let mut cache = Cache::new(2, Duration::ZERO);
    cache.insert("a", 1);
    assert_eq!(cache.get(&"a"), None);
}
