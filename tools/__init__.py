"""Development tools. Nothing here is installed with Roost."""
