"""SWE-CARE: its release."""
