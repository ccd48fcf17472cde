"""c-CRAB: its release, its funnel, and its recorded results."""
