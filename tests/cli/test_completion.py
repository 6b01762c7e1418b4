#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`sluice completion` prints scripts that the shells themselves run: what they complete is what --help names."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from program import commands, sluice


def options(command):
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", sluice(command, "--help")[1], re.M))


class Bash:
    """Calls the function that bash calls, with the words as bash splits them."""
    name = "bash"
    driver = r"""
        source "$1"
        shift
        compopt() { :; } # exists during a completion only
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _sluice sluice "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
        """

    def __init__(self, script):
        self.script = script

    def complete(self, *words):
        run = subprocess.run(["bash", "-c", self.driver, "bash", self.script, *words], capture_output=True, text=True,
                             timeout=60, check=True)
        assert run.stderr == "", run.stderr
        return set(run.stdout.split())


class Fish:
    name = "fish"

    def __init__(self, script):
        self.script = script

    def complete(self, *words):
        run = subprocess.run(["fish", "--no-config", "-c", f"source {self.script}; complete -C $argv[1]",
                              " ".join(words)], capture_output=True, text=True, timeout=60, check=True)
        assert run.stderr == "", run.stderr
        return {line.partition("\t")[0] for line in run.stdout.splitlines()}


class Zsh:
    """Types the words and a tab in an interactive zsh, whose list of matches is read."""
    name = "zsh"
    driver = r"""
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PROMPT= ; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
        zpty -w shell "zstyle ':completion:*' list-separator ''; zstyle ':completion:*' verbose no"
        zpty -w shell "LISTMAX=100000; setopt no_list_ambiguous list_rows_first; stty columns 400 rows 4000"
        zpty -w shell "zstyle ':completion:*:default' list-prompt ''; bindkey '^I' list-choices; print READY''1"
        zpty -r shell line '*READY1*'
        zpty -n -w shell "$2"$'\t'
        sleep "$3"
        zpty -n -w shell $'\x15print DONE\'\'1\n'
        zpty -r shell line '*DONE1*'
        print -r -- "$line"
        """

    def __init__(self, script):
        self.folder = os.path.dirname(script)
        shutil.copy(script, os.path.join(self.folder, "_sluice"))

    def complete(self, *words):
        for pause in (0.3, 1, 4):  # zsh reports no end of its list
            run = subprocess.run(["zsh", "-f", "-c", self.driver, "zsh", self.folder, " ".join(words), str(pause)],
                                 capture_output=True, text=True, timeout=60)
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", " ", run.stdout)
            found = set(text.split()) - set(words[:-1])
            if len(found) > 3:
                return found
        return found


class Completion(unittest.TestCase):
    def shells(self):
        for shell in (Bash, Zsh, Fish):
            if not shutil.which(shell.name):
                print(f"{shell.name} is not installed: not tested")
                continue
            code, out, err = sluice("completion", shell.name)
            self.assertEqual((code, err), (0, ""))
            with tempfile.TemporaryDirectory() as folder:
                script = os.path.join(folder, "script")
                with open(script, "w", encoding="utf-8") as file:
                    file.write(out)
                with self.subTest(shell.name):
                    yield shell(script)

    def test_commands(self):
        for shell in self.shells():
            self.assertLessEqual(set(commands()), shell.complete("sluice", ""))

    def test_options_of_each_command(self):
        for shell in self.shells():
            for command in commands() if shell.name != "zsh" else ("run", "nft"):
                with self.subTest(command):
                    found = {word.rstrip("=") for word in shell.complete("sluice", command, "--")}
                    self.assertLessEqual(options(command), found)

    def test_values(self):
        for shell in self.shells():
            self.assertLessEqual({"after", "before", "repeat"}, shell.complete("sluice", "run", "--attach", ""))
            self.assertIn("queue.length=", shell.complete("sluice", "run", "--set", "queue."))
            self.assertNotIn("queue.length=", shell.complete("sluice", "run", "--set", "nft."))

    def test_arguments(self):
        for shell in self.shells():
            self.assertLessEqual({"print", "install", "doctor"}, shell.complete("sluice", "nft", ""))
            self.assertLessEqual({"http.uri", "http.uri.raw"}, shell.complete("sluice", "keywords", "http.ur"))
            self.assertIn("nft.attach", shell.complete("sluice", "settings", "nft."))

    def test_files(self):
        for shell in self.shells():
            with tempfile.TemporaryDirectory() as folder:
                for name in ("one.pcap", "two.pcap", "three.pcap", "four.pcap"):
                    with open(os.path.join(folder, name), "w", encoding="utf-8"):
                        pass
                found = shell.complete("sluice", "replay", folder + "/")
                self.assertIn("one.pcap", {os.path.basename(word) for word in found})
                found = shell.complete("sluice", "run", "--config", folder + "/")
                self.assertIn("one.pcap", {os.path.basename(word) for word in found})

    def test_bash_splits_at_an_equals_sign(self):
        for shell in self.shells():
            if shell.name == "bash":
                self.assertIn("after", shell.complete("sluice", "run", "--attach", "=", "af"))
                self.assertIn("after", shell.complete("sluice", "run", "--attach", "="))

    def test_wrong_arguments(self):
        for arguments in ((), ("tcsh",), ("bash", "zsh")):
            code, out, err = sluice("completion", *arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
