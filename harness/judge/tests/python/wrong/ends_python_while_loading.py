# Calls sys.exit while it is loaded.
# judged: no build: SystemExit
# says: kernels/a/kernel.py:5: error: SystemExit
import sys

sys.exit(0)
