"""A report in Markdown, HTML and LaTeX: each renders the same sections."""
