"""The words: frozen data and enums that every other part speaks. Imports nothing else of ours."""
