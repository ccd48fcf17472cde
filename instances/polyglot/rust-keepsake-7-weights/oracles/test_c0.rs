//! A value that weighs more than all may is not kept, and costs no other its place.

use keepsake::Cache;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn cache() -> Cache<&'static str, usize> {
    let mut cache = Cache::weighed(10, HOUR, |weight: &usize| *weight);
    cache.insert("a", 4);
    cache.insert("b", 6);
    cache
}

#[test]
fn what_is_too_heavy_is_not_kept() {
    for weight in [11, 12, 19, 20, 1000] {
        let mut cache = cache();
        cache.insert("heavy", weight);
        assert_eq!(cache.get(&"heavy"), None, "{weight}");
    }
}

#[test]
fn the_others_stay() {
    let mut cache = cache();
    cache.insert("heavy", 11);
    assert_eq!(cache.get(&"a"), Some(&4));
    assert_eq!(cache.get(&"b"), Some(&6));
    assert_eq!(cache.weight(), 10);
}

#[test]
fn what_just_fits_is_kept() {
    let mut cache = cache();
    cache.insert("all", 10);
    assert_eq!(cache.get(&"all"), Some(&10));
    assert_eq!(cache.len(), 1);
}
