"""What users are shown of hooks and approvals, for commands and for the page of `hookline ui`."""
