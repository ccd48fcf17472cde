"""What is sent into sandboxes as text: it imports the standard library only."""
