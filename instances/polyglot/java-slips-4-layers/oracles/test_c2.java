package slips;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class NumberTest {
    @Test
    void saysWhichSettingIsNoNumber() {
        Settings settings = Settings.read("port = eighty\ncurrency = EUR");
        RuntimeException error = assertThrows(RuntimeException.class, () -> Layers.number(settings, "port"));
        assertTrue(String.valueOf(error.getMessage()).contains("port"), "its name");
    }

    @Test
    void readsANumber() {
        assertEquals(8080, Layers.number(Settings.read("port = 8080"), "port"));
    }
}
