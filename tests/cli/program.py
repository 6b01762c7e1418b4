# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the program as a user would, for the tests of the command line."""
import os
import re
import subprocess

SLUICE = os.environ["SLUICE"]


def sluice(*arguments):
    """Returns the exit code, stdout and stderr."""
    run = subprocess.run([SLUICE, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return run.returncode, run.stdout, run.stderr


def commands():
    """Returns the names of all commands, from the help."""
    listing = sluice("--help")[1].partition("Commands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([\w-]+)", listing, re.M)
