# Waits for ever while it is loaded.
# judged: crash: the source did not load within 5 s
# load limit: 5
import threading

threading.Event().wait()
