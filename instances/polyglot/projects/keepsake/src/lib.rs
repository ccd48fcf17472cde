//! A cache that forgets: entries live for a time, and the cache holds only so many.

mod cache;

pub use cache::Cache;
