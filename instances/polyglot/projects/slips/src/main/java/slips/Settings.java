package slips;

import java.util.LinkedHashMap;
import java.util.Map;

/** Settings by name, in the order of the file. */
public final class Settings {
    private final Map<String, String> values;

    Settings(Map<String, String> values) {
        this.values = values;
    }

    /** Reads a text with one setting on a line. */
    public static Settings read(String text) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String line : text.split("\\R")) {
            String setting = line.strip();
            if (!setting.isEmpty() && !setting.startsWith("#")) {
                String[] parts = setting.split("=", 2);
                values.put(parts[0].strip(), parts[1].strip());
            }
        }
        return new Settings(values);
    }

    /** The value of a setting; null if there is none. */
    public String get(String name) {
        return values.get(name);
    }

    Map<String, String> values() {
        return values;
    }
}
