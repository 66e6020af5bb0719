"""`python -m wsgiauth`."""

import sys

from wsgiauth.cli import main

sys.exit(main())
