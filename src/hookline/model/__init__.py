"""The model: frozen data and enums that all other packages use. Imports no other package."""
