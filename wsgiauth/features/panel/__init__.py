"""The staff panel."""
