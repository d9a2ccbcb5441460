"""The report of a run: panels are pure data, and HTML, Markdown and JSON are ways to print them."""
