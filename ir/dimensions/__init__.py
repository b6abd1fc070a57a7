"""Dynamic dimensions: heights and widths that are chosen when a build runs."""
