package slips;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class MergedTest {
    private final Settings usual = Settings.read("port = 80\ncurrency = EUR");
    private final Settings own = Settings.read("port = 8080\nname = shop");

    @Test
    void leavesTheLayersAsTheyAre() {
        Layers.merged(usual, own);
        assertEquals("80", usual.get("port"));
        assertNull(usual.get("name"));
        assertNull(own.get("currency"));
    }

    @Test
    void theLaterOneDecides() {
        Settings merged = Layers.merged(usual, own);
        assertEquals("8080", merged.get("port"));
        assertEquals("EUR", merged.get("currency"));
        assertEquals("shop", merged.get("name"));
    }
}
