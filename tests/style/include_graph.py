#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints which modules each module includes. Fails if a module includes another one that is not in a lower layer.

    include_graph.py SOURCE_DIR

The layers are read from the picture in docs/architecture.md (the block after "## Layers"), so that the document stays
correct. include/sluice/X.h belongs to the module that the picture names for X.
"""
import os
import re
import sys


def layers(path):
    """Returns {module: layer} and {header: module} from the document."""
    text = open(path, encoding='utf-8').read()
    block = re.search(r'^## Layers$.*?```\n(.*?)```', text, re.S | re.M)
    if not block:
        sys.exit(f'{path}: no block of layers')
    module_layer, header_module = {}, {}
    for line in block.group(1).splitlines():
        m = re.match(r'\s*(\d+)\s+(\S+)\s', line + ' ')
        if not m:
            continue
        module_layer[m[2]] = int(m[1])
        header_module.setdefault(m[2], m[2])
        for name in re.findall(r'\b(\w+)\.h\b', line):
            header_module[name] = m[2]
    return module_layer, header_module


def main():
    root = sys.argv[1]
    module_layer, header_module = layers(os.path.join(root, 'docs/architecture.md'))
    edges, problems = {}, []

    def use(file, module, header):
        other = header_module.get(header)
        if other is None:
            problems.append(f'{file}: include/sluice/{header}.h is not in the picture of docs/architecture.md')
            return
        if other == module:
            return
        edges.setdefault(module, {}).setdefault(other, file)
        if module_layer[other] >= module_layer[module]:
            kind = 'up' if module_layer[other] > module_layer[module] else 'to a neighbour'
            problems.append(f'{file}: {module} (layer {module_layer[module]}) includes sluice/{header}.h of {other} '
                            f'(layer {module_layer[other]}): an include may not point {kind}')

    for folder, _, names in sorted(os.walk(os.path.join(root, 'src'))):
        for name in sorted(names):
            if not name.endswith(('.c', '.h')):
                continue
            path = os.path.join(folder, name)
            short = os.path.relpath(path, root)
            module = os.path.relpath(folder, os.path.join(root, 'src')).split(os.sep)[0]
            if module not in module_layer:
                problems.append(f'{short}: the folder {module} is not in the picture of docs/architecture.md')
                continue
            for include in re.findall(r'^\s*#\s*include\s+"([^"]+)"', open(path, encoding='utf-8').read(), re.M):
                m = re.fullmatch(r'sluice/(\w+)\.h', include)
                if m:
                    use(short, module, m[1])
                elif '/' in include:
                    other = include.split('/')[0]
                    if other != module:
                        problems.append(f'{short}: includes the private header {include} of another module')
                elif not os.path.exists(os.path.join(folder, include)):
                    problems.append(f'{short}: includes "{include}", which is not in the same folder')

    # Includes of a public header count for the module that the header belongs to.
    for name in sorted(os.listdir(os.path.join(root, 'include/sluice'))):
        header = name[:-2]
        module = header_module.get(header)
        if module is None:
            problems.append(f'include/sluice/{name} is not in the picture of docs/architecture.md')
            continue
        text = open(os.path.join(root, 'include/sluice', name), encoding='utf-8').read()
        for other in re.findall(r'^\s*#\s*include\s+"sluice/(\w+)\.h"', text, re.M):
            use(f'include/sluice/{name}', module, other)

    for module in sorted(edges, key=lambda m: (module_layer[m], m)):
        uses = sorted(edges[module], key=lambda m: (module_layer[m], m))
        print(f'{module_layer[module]} {module:10s} -> {", ".join(uses)}')

    # Each ring has an edge that is reported above; report the ring as a whole, too.
    state = {}

    def visit(module, trail):
        if state.get(module) == 'done':
            return
        if module in trail:
            problems.append('ring: ' + ' -> '.join(trail[trail.index(module):] + [module]))
            return
        for other in edges.get(module, {}):
            visit(other, trail + [module])
        state[module] = 'done'

    for module in edges:
        visit(module, [])
    for problem in problems:
        print('error:', problem, file=sys.stderr)
    if not edges:
        print('error: no include was found: wrong folder?', file=sys.stderr)
    return 1 if problems or not edges else 0


if __name__ == '__main__':
    sys.exit(main())
