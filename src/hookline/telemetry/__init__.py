"""Metrics and traces for other programs: Prometheus and OpenTelemetry."""
