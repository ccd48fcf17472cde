"""Numbers to eyes: terminal text, the page, Markdown, JUnit and transcripts."""
