#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""blocks.py CHECKOUT DOCUMENT: run or check each fenced block of a document, in order, as its reader would.

    ```sh           commands; run as root in one shell that starts in the checkout; each must end with exit code 0
    ```yaml         a configuration; checked with `sluice check --config`
    ```suricata     rules; checked with `sluice check --rules`
    ```threshold    lines of threshold.config; checked with `sluice check --set threshold-file=`
    ```nft          a ruleset; checked with `nft --check`, if this kernel has the expressions
    ```text         output, pictures, formulas; not checked

A comment in the line before a block changes that:

    <!-- not run: REASON -->       not run; counted and printed with the reason
    <!-- runs until Ctrl-C -->     `sluice run` in the foreground. It runs until a block marked "after Ctrl-C" or "runs
                                   until Ctrl-C", or the end of the document. Then it gets SIGINT, and must end with
                                   exit code 0
    <!-- after Ctrl-C -->          commands after the reader has stopped the daemon

A document NAME.md that links pages NAME/PAGE.md is a table of contents: their blocks follow, in the order of the links,
in the same shell.

The blocks change the machine, so documents.sh starts this script behind an overlay.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SHELL_SECONDS = 3600  # enough for a build from scratch
READY_SECONDS = 60
MARK = re.compile(r"<!-- (not run: .+|runs until Ctrl-C|after Ctrl-C) -->$")
MISSING_IN_KERNEL = re.compile(r"(?m)^Error: (Could not process rule: (No such file or directory|Operation not "
                               r"supported)|.* not supported by kernel)")


class Failure(Exception):
    pass


class Block:
    def __init__(self, line, indent, language, mark):
        self.line, self.indent, self.language, self.mark = line, indent, language, mark
        self.lines = []

    def add(self, line):
        self.lines.append(line.removeprefix(self.indent))

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def read_blocks(path):
    """Returns the fenced blocks. Indented blocks and blocks without a language are errors, because this script could
    not run them."""
    blocks, block, mark, blank = [], None, None, True
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            fence = re.match(r"( *)```(\w*)$", line)  # a block within a list is indented
            if block and line.strip() == "```":
                blocks.append(block)
                block = mark = None
            elif block:
                block.add(line)
            elif fence:
                if not fence[2]:
                    raise Failure(f"line {number}: the block has no language")
                block = Block(number, fence[1], fence[2], mark)
            elif blank and line.startswith("    "):
                raise Failure(f"line {number}: an indented block: write it as a fenced one with its language")
            elif line:
                found = MARK.match(line.strip())
                if line.strip().startswith("<!-- not run") and not found:
                    raise Failure(f"line {number}: the mark has no reason")
                mark = found and found[1]
            blank = not line
    if block:
        raise Failure(f"line {block.line}: the block does not end")
    return blocks


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, **options)


class Session:
    """The reader's terminals: a shell with its working directory, and a second one in which the daemon runs."""

    def __init__(self, checkout):
        self.folder = checkout
        self.daemon = self.log = None
        self.scratch = tempfile.TemporaryDirectory()

    def shell(self, block):
        after = os.path.join(self.scratch.name, "folder")
        script = f"trap 'pwd >{after}' EXIT\nset -e\n{block.text}"
        done = run("bash", "-c", script, cwd=self.folder, stdin=subprocess.DEVNULL, timeout=SHELL_SECONDS)
        print("".join(f"    {line}\n" for line in done.stdout.splitlines()), end="")
        if done.returncode:
            raise Failure(f"exit code {done.returncode}")
        with open(after, encoding="utf-8") as file:
            self.folder = file.read().rstrip("\n")

    def start_daemon(self, block):
        self.stop_daemon()
        self.log = os.path.join(self.scratch.name, "daemon.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(["bash", "-c", "set -e\n" + block.text], cwd=self.folder,
                                           stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + READY_SECONDS
        while "sluice: ready" not in self.said():
            if self.daemon.poll() is not None or time.monotonic() > end:
                raise Failure(f"the daemon did not become ready:\n{self.said()}")
            time.sleep(0.05)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop_daemon(self):
        if not self.daemon:
            return
        os.killpg(self.daemon.pid, signal.SIGINT)
        code = self.daemon.wait(timeout=60)
        self.daemon = None
        if code:
            raise Failure(f"the daemon ended with exit code {code} on Ctrl-C:\n{self.said()}")

    def file(self, name, block):
        path = os.path.join(self.scratch.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(block.text)
        return path

    def check(self, *command):
        done = run(*command)
        if done.returncode:
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}:\n{done.stdout}")

    def check_nft(self, path):
        done = run("nft", "--check", "--file", path)
        errors = [line for line in done.stdout.splitlines() if re.search(r"\bError: ", line)]
        if not done.returncode:
            return None
        if errors and all(MISSING_IN_KERNEL.search(error[error.index("Error: "):]) for error in errors):
            return f"this kernel lacks what it needs ({errors[0]})"
        raise Failure(f"nft --check: exit code {done.returncode}:\n{done.stdout}")

    def do(self, block):
        """Runs or checks a block. Returns None, or the reason why it was not run."""
        if block.mark and block.mark.startswith("not run: "):
            return block.mark.removeprefix("not run: ")
        if block.language == "sh":
            if block.mark == "runs until Ctrl-C":
                self.start_daemon(block)
            else:
                if block.mark:
                    self.stop_daemon()
                self.shell(block)
        elif block.language == "yaml":
            self.check("sluice", "check", "--config", self.file("config.yaml", block))
        elif block.language == "suricata":
            self.check("sluice", "check", "--rules", self.file("document.rules", block))
        elif block.language == "threshold":
            self.check("sluice", "check", "--set", "threshold-file=" + self.file("threshold.config", block))
        elif block.language == "nft":
            return self.check_nft(self.file("document.nft", block))
        elif block.language != "text":
            raise Failure(f"unknown language '{block.language}'")
        return None


def pages_of(checkout, document):
    """Returns the document, followed by the pages that it links as a table of contents."""
    stem = os.path.splitext(os.path.basename(document))[0]
    with open(os.path.join(checkout, document), encoding="utf-8") as file:
        pages = re.findall(rf"\]\(({stem}/[\w-]+\.md)\)", file.read())
    return [document] + [os.path.join(os.path.dirname(document), page) for page in dict.fromkeys(pages)]


def main():
    checkout, document = sys.argv[1:]
    session, done, left_out, line, page = Session(checkout), {}, 0, 0, document
    try:
        for page in pages_of(checkout, document):
            line = 0
            for block in read_blocks(os.path.join(checkout, page)):
                line, begin = block.line, time.monotonic()
                reason = session.do(block)
                if reason:
                    left_out += 1
                    print(f"NOT RUN {page}:{line}: {block.language}: {reason}", flush=True)
                else:
                    done[block.language] = done.get(block.language, 0) + 1
                    print(f"ok {page}:{line}: {block.language}: {block.lines[0]} ({time.monotonic() - begin:.1f} s)",
                          flush=True)
        session.stop_daemon()
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"FAILED {page}:{line}: {failure}")
        if session.daemon:
            print(f"--- the daemon's log:\n{session.said()}")
        sys.exit(1)
    print(f"{document}: " + ", ".join(f"{count} {language}" for language, count in sorted(done.items())) +
          f" blocks run or checked, {left_out} not run")


if __name__ == "__main__":
    main()
