package slips;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class SectionTest {
    private static void check(String end) {
        String text = String.join(end, "[shop]", "port = 80", "[shopping]", "port = 81", "[till]", "port = 82", "");
        assertEquals("80", Layers.section(text, "shop").get("port"));
        assertEquals("82", Layers.section(text, "till").get("port"));
        assertNull(Layers.section(text, "none").get("port"));
    }

    @Test
    void readsFilesOfOneSystem() {
        check("\n");
    }

    @Test
    void readsFilesOfTheOther() {
        check("\r\n");
    }
}
