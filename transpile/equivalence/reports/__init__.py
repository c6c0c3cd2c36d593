"""Reports of a check as text, JSON, JUnit and HTML."""
