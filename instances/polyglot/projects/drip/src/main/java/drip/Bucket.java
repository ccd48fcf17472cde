package drip;

/** A bucket that fills by itself: some tokens a second, and never more than it holds. Times are in milliseconds. */
public final class Bucket {
    private final long capacity;
    private final double perSecond;
    private double tokens;
    private long seen;

    /** A full bucket. */
    public Bucket(long capacity, double perSecond, long now) {
        if (capacity < 1 || perSecond <= 0) {
            throw new IllegalArgumentException("a bucket holds something, and something comes in");
        }
        this.capacity = capacity;
        this.perSecond = perSecond;
        this.tokens = capacity;
        this.seen = now;
    }

    /** Takes so many tokens; if there are fewer it takes none, and returns false. */
    public synchronized boolean take(long count, long now) {
        fill(now);
        if (count > tokens) {
            return false;
        }
        tokens -= count;
        return true;
    }

    private void fill(long now) {
        if (now > seen) {
            tokens = Math.min(capacity, tokens + (now - seen) * perSecond / 1000);
            seen = now;
        }
    }
}
