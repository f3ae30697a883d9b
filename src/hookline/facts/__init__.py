"""Facts about the place of an event, gathered once and handed to every hook that asks for them."""
