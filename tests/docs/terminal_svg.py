#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts a screen of a terminal, as `tmux capture-pane -e -p` prints it, to SVG.

    terminal_svg.py COLUMNS <SCREEN >FILE.svg
"""
import html
import re
import sys
import unicodedata

CELL, LINE, SIZE, MARGIN = 8.4, 17, 14, 12
FOREGROUND, BACKGROUND = '#d8dee9', '#1d2129'
NO_BREAK = '\u00a0'   # viewers join several ordinary spaces
COLOURS = ['#3b4252', '#e06c75', '#8fbf7f', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d8dee9']


class Style:
    def __init__(self):
        self.bold = self.dim = self.reverse = False
        self.colour = None

    def apply(self, codes):
        for code in codes:
            if code == 0:
                self.__init__()
            elif code in (1, 2, 7):
                setattr(self, {1: 'bold', 2: 'dim', 7: 'reverse'}[code], True)
            elif code in (22, 27):
                self.bold = self.dim = self.dim and code != 22
                self.reverse = self.reverse and code != 27
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.colour = COLOURS[code % 10]
            elif code == 39:
                self.colour = None


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)


def runs(line, style):
    """Yields the parts of a line: column, text, and the style as attributes of SVG."""
    column = 0
    for part in re.split(r'(\033\[[0-9;]*m)', line):
        if part.startswith('\033['):
            style.apply([int(code or 0) for code in part[2:-1].split(';')])
        elif part:
            yield column, part, style
            column += width(part)


def main():
    columns = int(sys.argv[1])
    lines = sys.stdin.read().rstrip('\n').split('\n')
    total_width, total_height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width:g} {total_height:g}" '
           f'width="{total_width:g}" height="{total_height:g}">',
           f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
           f'<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{SIZE}">']
    style = Style()
    for number, line in enumerate(lines):
        y = MARGIN + number * LINE
        for column, text, now in runs(line, style):
            x, length = MARGIN + column * CELL, width(text) * CELL
            colour = now.colour or FOREGROUND
            if now.reverse:
                out.append(f'<rect x="{x:g}" y="{y}" width="{length:g}" height="{LINE}" fill="{colour}"/>')
                colour = BACKGROUND
            if not text.strip():
                continue
            weight = ' font-weight="bold"' if now.bold else ''
            opacity = ' opacity="0.6"' if now.dim else ''
            out.append(f'<text x="{x:g}" y="{y + 13}" fill="{colour}" textLength="{length:g}"{weight}{opacity}>'
                       f'{html.escape(text).replace(" ", NO_BREAK)}</text>')
    out += ['</g>', '</svg>']
    print('\n'.join(out))


if __name__ == '__main__':
    main()
