"""Other people's agents, for trying Roost on them: pinned, installed into the checkout's cache, and written up."""
