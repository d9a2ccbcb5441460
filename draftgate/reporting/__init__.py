"""What the user sees and keeps: the results folder, the table on the terminal, JUnit properties."""
