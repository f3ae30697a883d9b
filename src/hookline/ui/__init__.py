"""What all hooks of all agents do, live: a page in a browser (`hookline ui`) and a view in a terminal (`hookline top`)."""
