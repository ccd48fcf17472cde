package drip;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class ForgetTest {
    private static Buckets buckets() {
        Buckets buckets = new Buckets(2, 1);
        for (int each = 0; each < 8; each++) {
            buckets.take("client" + each, each % 2 == 0 ? 1000 : 2000);
        }
        return buckets;
    }

    @Test
    void forgetsAllThatWereNotSeenSince() {
        Buckets buckets = buckets();
        buckets.forget(1500);
        assertEquals(Set.of("client1", "client3", "client5", "client7"), new TreeSet<>(buckets.all().keySet()));
    }

    @Test
    void forgetsNobodyThatWasSeen() {
        Buckets buckets = buckets();
        buckets.forget(1000);
        assertEquals(8, buckets.all().size());
    }
}
