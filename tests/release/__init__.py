"""Building, checking and publishing a release: `make dist` and `make release`."""
