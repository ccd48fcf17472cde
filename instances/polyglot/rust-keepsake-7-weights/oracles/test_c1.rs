//! A key that is set again weighs what its new value does.

use keepsake::Cache;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn cache(limit: usize) -> Cache<&'static str, usize> {
    Cache::weighed(limit, HOUR, |weight: &usize| *weight)
}

#[test]
fn the_old_value_weighs_no_more() {
    for (first, second) in [(3, 3), (3, 5), (5, 3)] {
        let mut cache = cache(20);
        cache.insert("a", first);
        cache.insert("a", second);
        assert_eq!(cache.weight(), second, "{first}, then {second}");
        assert_eq!(cache.get(&"a"), Some(&second));
    }
}

#[test]
fn the_old_value_takes_no_place_of_others() {
    let mut cache = cache(10);
    cache.insert("other", 4);
    cache.insert("a", 6);
    for weight in [5, 6, 3, 6] {
        cache.insert("a", weight);
    }
    assert_eq!(cache.get(&"other"), Some(&4));
    assert_eq!(cache.weight(), 10);
}
