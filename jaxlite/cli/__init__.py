"""The command line: ``jaxlite tour | lab | course | doctor``.

Files, in reading order:

* ``main.py``       arguments -> one call, and every failure -> one message and an exit code.
* ``console.py``    what is printed: messages and the progress bar.
* ``parts.py``      optional packages: is it there, which command brings it, import it.
* ``notebooks.py``  where the notebooks are (checkout or wheel) and how they are copied.
* ``execute.py``    a notebook -> the same notebook with outputs, and its digest.
* ``page.py``       an executed notebook -> one HTML page that loads nothing from the network.
* ``tour.py``, ``lab.py``, ``doctor.py``  the commands.

Jupyter is optional and slow to import, so it is reached through ``parts.load`` when a command needs
it: ``jaxlite --help`` costs no more than ``import jaxlite``. Exit codes: 0 done, 1 a notebook or a
device failed, 2 wrong arguments or a missing package, 130 interrupted.
"""
