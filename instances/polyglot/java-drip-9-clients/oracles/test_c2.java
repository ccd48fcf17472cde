package drip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MissingTest {
    @Test
    void whoWaitsAsLongGetsTheTokens() {
        for (double perSecond : new double[] {3, 7, 0.3}) {
            Bucket bucket = new Bucket(5, perSecond, 0);
            bucket.take(5, 0);
            assertTrue(bucket.take(1, bucket.missing(1, 0)), perSecond + " tokens a second");
        }
    }

    @Test
    void nobodyWaitsForMoreThanThat() {
        Bucket bucket = new Bucket(5, 4, 0);
        assertEquals(0, bucket.missing(5, 0));
        bucket.take(5, 0);
        assertEquals(250, bucket.missing(1, 0));
    }
}
