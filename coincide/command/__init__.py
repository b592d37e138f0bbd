"""The command ``coincide`` (``join``, ``window-join``, ``chance`` and others): the one part with input and output.

Nothing imports it but ``python -m coincide``. What the user can put right is a `CommandError` or an error of the
library; `main` turns both into one sentence and an exit status.
"""
