package drip;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Set;
import org.junit.jupiter.api.Test;

class AllTest {
    @Test
    void whoHasTheClientsCannotForgetOne() {
        Buckets buckets = new Buckets(1, 1);
        buckets.take("a", 1000);
        try {
            buckets.all().clear();
        } catch (UnsupportedOperationException refused) {
            // which is as good
        }
        assertFalse(buckets.take("a", 1000), "a full bucket again");
    }

    @Test
    void theClientsAreTold() {
        Buckets buckets = new Buckets(1, 1);
        buckets.take("a", 1000);
        buckets.take("b", 1000);
        assertEquals(Set.of("a", "b"), Set.copyOf(buckets.all().keySet()));
    }
}
