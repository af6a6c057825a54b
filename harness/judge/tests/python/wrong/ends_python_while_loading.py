# Calls sys.exit while it is loaded.
# judged: no build: SystemExit
# says: kernels/a/kernel.py:6: error: SystemExit
import sys

sys.exit(0)
