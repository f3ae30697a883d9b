"""From an event to an outcome: registry, planner, trust, translator, runner, merge, and the engine around them."""
