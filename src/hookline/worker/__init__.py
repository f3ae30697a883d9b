"""The worker: runs what waits in the queue, in the project it is about, as that is configured by then."""
