# Ends its process while it is loaded.
# judged: crash: the source crashed while it was loaded: its process ended with exit code 0
import os

os._exit(0)
