"""Why a hook ran or did not, what is wrong with it, and what to try it with."""
